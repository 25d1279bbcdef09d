import { flat } from "./mapping";
import { isPlainHttp } from "./rules/plain-http";
import type { ClusterSpec } from "./spec/index";

const charts = ["gpuOperator", "devicePlugin", "dra", "leaderWorkerSet"] as const;

/** A note on each address that is asked by plain HTTP: what comes from there runs as administrator of the machines. */
export const plainHttpNotes = (spec: ClusterSpec): string[] =>
  flat<string>([
    isPlainHttp(spec.factoryUrl ?? "") &&
      "factoryUrl: is plain HTTP; whoever is on the way can have the machines boot another image; use https, which the machines' registry configuration must trust",
    charts.map(
      (chart) =>
        isPlainHttp(spec[chart]?.repository ?? "") &&
        `${chart}.repository: is plain HTTP; whoever is on the way can change what is installed as administrator of the cluster; use https or oci`,
    ),
  ]);
