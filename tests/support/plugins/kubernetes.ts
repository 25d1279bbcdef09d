import { KubernetesProvider } from "../../../lab/providers/kubernetes";
import { serveAsPlugin } from "./served";

// `pulumi-resource-kubernetes`: it fetches charts from where the program says. Their servers are out of reach of the tests, so
// the mirror that the preflight is told of stands for them.

const mirror = process.env["TALOS_GPU_CHARTS"] ?? "";

serveAsPlugin(
  "kubernetes",
  () =>
    new KubernetesProvider({
      helm: process.env["PLUGIN_HELM"]!,
      charts: (repository, chart, version) => {
        const address = `${mirror.replace(/\/$/, "")}/${repository.replace(/^[a-z]+:\/\//, "")}`;
        return [chart, "--repo", address, "--version", version];
      },
    }),
);
