import * as semver from "semver";
import { judgesOf, judgeValues } from "./facts/chart";
import { eraOf } from "./facts/talos-release";
import type { ClusterSpec, MachineSpec } from "./spec/index";
import { valueAt } from "./mapping";

/** Which releases of a chart judge the values of one that is not in the tables, and what a release is known for. */
export function chartNotes(spec: ClusterSpec): string[] {
  const { gpuOperator, devicePlugin } = spec;
  const named = [
    ["gpuOperator", "gpu-operator", gpuOperator],
    ["devicePlugin", "nvidia-device-plugin", devicePlugin],
  ] as const;
  const ofCharts = named.flatMap(([field, name, release]) => {
    if (release === undefined) return [];
    const { version, values = {} } = release;
    const judges = judgesOf(name, version).map((judge) => judge.version);
    return [
      ...(judges.length === 0 || judges.includes(version.replace(/^v/, ""))
        ? []
        : [`${name} ${version} is not in the tables: its values are judged by those of ${judges.join(" and ")}`]),
      ...judgeValues(name, version, values).open.map(
        (path) =>
          `${field}.values.${path}: whether ${name} ${version} has this value is not known here; Helm ignores one that a chart does not have (\`helm show values\` lists those that it has)`,
      ),
      ...(asksForInfiniband(name, version)
        ? [
            `${name} ${version}: its device plugin asks for the InfiniBand, GPUDirect Storage and GDRCopy devices of the machine for every GPU container, where other device plugins may hand them out (k8s-device-plugin#1692); 0.19.3, in the operator v26.3.3, does not`,
          ]
        : []),
    ];
  });
  return [...ofCharts, ...withoutCdi(spec), ...withoutDiscovery(spec)];
}

/** The label by which the operator finds a GPU node (gpu-operator v26.7.0, controllers/state_manager.go, gpuNodeLabels). */
const featureLabel = /^feature\.node\.kubernetes\.io\/pci-(10de|0302_10de|0300_10de)\.present$/;

/** Whether every machine with a card says that label itself. */
export function labelledByHand(machines: Pick<MachineSpec, "labels" | "gpus">[]): boolean {
  return machines
    .filter(({ gpus = [] }) => gpus.length > 0)
    .every(({ labels = {} }) =>
      Object.entries(labels).some(([key, value]) => featureLabel.test(key) && value === "true"),
    );
}

function withoutDiscovery({ gpuOperator, machines }: ClusterSpec): string[] {
  const isOff = String(valueAt(gpuOperator?.values, "nfd", "enabled")) === "false";
  return !isOff || labelledByHand(Object.values(machines))
    ? []
    : [
        "gpuOperator.values.nfd.enabled: the cluster's own Node Feature Discovery must run on every GPU machine and set feature.node.kubernetes.io/pci-0300_10de.present, pci-0302_10de.present or pci-10de.present there; without one of them the operator places no operand",
      ];
}

/**
 * Without CDI the operator's device plugin names the cards in an environment variable, which NVIDIA's runtime alone reads
 * (gpu-operator v26.3.3, assets/state-device-plugin/0500_daemonset.yaml). On Talos ≤ 1.12 it is always so.
 */
function withoutCdi({ gpuOperator, talosVersion }: ClusterSpec): string[] {
  return eraOf(talosVersion) === "cdi" && valueAt(gpuOperator?.values, "cdi", "enabled") === false
    ? [
        "gpuOperator.values.cdi.enabled is false: a pod gets its GPU from NVIDIA's runtime alone, so a pod of your own needs `runtimeClassName: nvidia` (those of this stack have it)",
      ]
    : [];
}

/**
 * Plugins 0.19.0 to 0.19.2, which operators v26.3.0 to v26.3.2 bring (their values.yaml). What the machine does not have is
 * left out, so they work without such devices (k8s-device-plugin v0.19.0 internal/cdi/cdi.go, "Ignoring empty CDI specs").
 */
const asksForInfiniband = (name: string, version: string): boolean =>
  semver.satisfies(version, name === "gpu-operator" ? ">=26.3.0 <26.3.3" : ">=0.19.0 <0.19.3");
