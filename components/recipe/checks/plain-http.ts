import { isPlainHttp } from "../rules/plain-http";
import type { Checks } from "./check";

const charts = ["gpuOperator", "devicePlugin", "dra", "leaderWorkerSet"] as const;

/** Checks for URLs with plain HTTP. The machines and the cluster run the downloaded content with all privileges. */
export const plainHttpChecks = {
  "plain-http": {
    severity: "warning",
    rule: "No URL of the Image Factory or of a chart repository uses plain HTTP to another computer",
    source:
      "talos, pkg/machinery/config: machine.registries (a mirror's own certificate); helm.sh/docs, repositories",
    ofFiles: false,
    find: ({ plan: { spec } }) => [
      isPlainHttp(spec.factoryUrl ?? "")
        ? {
            field: "factoryUrl",
            problem: "is plain HTTP",
            why: "an attacker on the network path can replace the image that the machines boot",
            remedy:
              "use https, with a certificate that the machines' registry configuration trusts",
          }
        : undefined,
      charts.map((chart) =>
        isPlainHttp(spec[chart]?.repository ?? "")
          ? {
              field: `${chart}.repository`,
              problem: "is plain HTTP",
              why: "an attacker on the network path can change the charts, which the update installs as administrator of the cluster",
              remedy: "use https or oci",
            }
          : undefined,
      ),
    ],
  },
} satisfies Checks;
