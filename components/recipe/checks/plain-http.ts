import { isPlainHttp } from "../rules/plain-http";
import type { Checks } from "./check";

const charts = ["gpuOperator", "devicePlugin", "dra", "leaderWorkerSet"] as const;

/** Addresses that are asked by plain HTTP: what comes from there runs as administrator of the machines. */
export const plainHttpChecks = {
  "plain-http": {
    severity: "warning",
    rule: "The Image Factory and the chart repositories are asked by HTTPS",
    source:
      "talos, pkg/machinery/config: machine.registries (a mirror's own certificate); helm.sh/docs, repositories",
    ofFiles: false,
    find: ({ plan: { spec } }) => [
      isPlainHttp(spec.factoryUrl ?? "") && {
        field: "factoryUrl",
        problem: "is plain HTTP",
        why: "an attacker on the network path can have the machines boot another image",
        remedy: "use https, which the machines' registry configuration must trust",
      },
      charts.map(
        (chart) =>
          isPlainHttp(spec[chart]?.repository ?? "") && {
            field: `${chart}.repository`,
            problem: "is plain HTTP",
            why: "an attacker on the network path can change what is installed as administrator of the cluster",
            remedy: "use https or oci",
          },
      ),
    ],
  },
} satisfies Checks;
