import * as semver from "semver";
import { judgesOf } from "./facts/chart";
import type { ClusterSpec } from "./stack/spec/index";

/** Which releases of a chart judge the values of one that is not in the tables, and what a release is known for. */
export function chartNotes({ gpuOperator, devicePlugin }: ClusterSpec): string[] {
  const named = [
    ["gpu-operator", gpuOperator?.version],
    ["nvidia-device-plugin", devicePlugin?.version],
  ] as const;
  return named.flatMap(([name, version]) => {
    if (version === undefined) return [];
    const judges = judgesOf(name, version).map((judge) => judge.version);
    return [
      ...(judges.length === 0 || judges.includes(version.replace(/^v/, ""))
        ? []
        : [`${name} ${version} is not in the tables: its values are judged by those of ${judges.join(" and ")}`]),
      ...(asksForInfiniband(name, version)
        ? [
            `${name} ${version}: its device plugin asks for the InfiniBand, GPUDirect Storage and GDRCopy devices of the machine for every GPU container, where other device plugins may hand them out (k8s-device-plugin#1692); 0.19.3, in the operator v26.3.3, does not`,
          ]
        : []),
    ];
  });
}

/**
 * Plugins 0.19.0 to 0.19.2, which operators v26.3.0 to v26.3.2 bring (their values.yaml). What the machine does not have is
 * left out, so they work without such devices (k8s-device-plugin v0.19.0 internal/cdi/cdi.go, "Ignoring empty CDI specs").
 */
const asksForInfiniband = (name: string, version: string): boolean =>
  semver.satisfies(version, name === "gpu-operator" ? ">=26.3.0 <26.3.3" : ">=0.19.0 <0.19.3");
