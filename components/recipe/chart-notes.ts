import * as semver from "semver";
import { type ChartName, judgesOf, judgeValues } from "./facts/chart";
import { gpuProviderFields, gpuProviderOfField } from "./facts/gpu-provider";
import { eraOf } from "./facts/talos-release";
import type { ClusterSpec, MachineSpec } from "./spec/index";
import { envOf } from "./cluster/values";
import { anyText, flat, type Nested, valueAt } from "./mapping";
import { filledPaths } from "./external/filled-in";
import { externalOf, ownValuesOf } from "./external/external";

/** Which releases of a chart judge the values of one that is not in the tables, and what a release is known for. */
export const chartNotes = (spec: ClusterSpec): string[] =>
  flat<string>([
    gpuProviderFields.map((field) => ofChart(field, gpuProviderOfField(field).chart, spec[field])),
    claimNotes(spec),
    withoutCdi(spec),
    driverFolder(spec),
    withoutDiscovery(spec),
  ]);

function ofChart(
  field: string,
  name: ChartName,
  release: { version: string; values?: Record<string, unknown> } | undefined,
): Nested<string> {
  if (release === undefined) return undefined;
  const { version, values = {} } = release;
  const judges = judgesOf(name, version).map((judge) => judge.version);
  return [
    judges.length > 0 &&
      !judges.includes(version.replace(/^v/, "")) &&
      `${name} ${version} is not in the tables: its values are judged by those of ${judges.join(" and ")}`,
    judgeValues(name, version, values).open.map(
      (path) =>
        `${field}.values.${path}: whether ${name} ${version} has this value is not known here; Helm ignores one that a chart does not have (\`helm show values\` lists those that it has)`,
    ),
    name === "gpu-operator" &&
      semver.lt(semver.coerce(version) ?? "99.0.0", "26.3.0") &&
      `${name} ${version}: NVIDIA no longer supports it; of the releases since, 26.3 is deprecated and 26.7 supported (platform support, 2026-11)`,
    asksForInfiniband(name, version) &&
      `${name} ${version}: every GPU container gets the machine's InfiniBand, GPUDirect Storage and GDRCopy devices too, which other device plugins may hand out (k8s-device-plugin#1692); 0.19.3, in the operator v26.3.3, does not do so`,
  ];
}

/** The label by which the operator finds a GPU node (gpu-operator v26.7.0, controllers/state_manager.go, gpuNodeLabels). */
const featureLabel = /^feature\.node\.kubernetes\.io\/pci-(10de|0302_10de|0300_10de)\.present$/;

/** Whether every machine with a card says that label itself. */
export const labelledByHand = (machines: Pick<MachineSpec, "labels" | "gpus">[]): boolean =>
  machines
    .filter(({ gpus = [] }) => gpus.length > 0)
    .every(({ labels = {} }) =>
      Object.entries(labels).some(([key, value]) => featureLabel.test(key) && value === "true"),
    );

const withoutDiscovery = ({ gpuOperator, machines }: ClusterSpec): Nested<string> =>
  anyText(valueAt(gpuOperator?.values, "nfd", "enabled")) === "false" &&
  !labelledByHand(Object.values(machines)) &&
  "gpuOperator.values.nfd.enabled: the cluster's own Node Feature Discovery must run on every GPU machine and set feature.node.kubernetes.io/pci-0300_10de.present, pci-0302_10de.present or pci-10de.present there; without one of them the operator places no operand";

/**
 * A folder of the host's that a DaemonSet fills with the driver, so that the operator's validator finds it (cozystack,
 * packages/system/gpu-operator/examples). Here the validator does not run, and the plugin finds the driver by `driver-ready`, which
 * names the host's root (kubernetes/markers.ts).
 */
const driverFolder = ({ gpuOperator, talosVersion }: ClusterSpec): Nested<string> => {
  const folder = valueAt(gpuOperator?.values, "hostPaths", "driverInstallDir");
  return (
    eraOf(talosVersion) === "legacy" &&
    typeof folder === "string" &&
    folder.startsWith("/var/") &&
    `gpuOperator.values.hostPaths.driverInstallDir is ${folder}: leave it out, with the DaemonSet that fills the folder; nothing looks there, as this stack writes the files that the validator would`
  );
};

/**
 * Without CDI the operator's device plugin names the cards in an environment variable, which NVIDIA's runtime alone reads
 * (gpu-operator v26.3.3, assets/state-device-plugin/0500_daemonset.yaml). On Talos ≤ 1.12 it is always so.
 */
const withoutCdi = ({ gpuOperator, talosVersion }: ClusterSpec): Nested<string> => [
  eraOf(talosVersion) === "cdi" && // before it is always so, and after it refused
    valueAt(gpuOperator?.values, "cdi", "enabled") === false &&
    "gpuOperator.values.cdi.enabled is false: a pod gets its GPU from NVIDIA's runtime alone, so a pod of your own needs `runtimeClassName: nvidia` (those of this stack have it)",
  // cloud-native-docs, pull request 534, upgrade page: it looks for `cdi-` in the override.
  valueAt(gpuOperator?.values, "cdi", "enabled") !== false &&
    !(
      envOf(valueAt(gpuOperator?.values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY") ?? "cdi-"
    ).includes("cdi-") &&
    "gpuOperator.values.devicePlugin.env: DEVICE_LIST_STRATEGY without CDI, beside CDI that is on, is an error to the next operator; what keeps CDI away for good is `cdi: { enabled: false }`",
];

/** What of claims is not known from the stack, or does not come by them. */
const claimNotes = ({ dra, kubernetesVersion, monitoring }: ClusterSpec): Nested<string> => [
  dra !== undefined &&
    kubernetesVersion === undefined &&
    `dra: claims need Kubernetes ${oldestForClaims} or newer; which release the cluster has is not known here`,
  dra !== undefined &&
    monitoring !== undefined &&
    "monitoring: metrics of a card name no pod that has it by a claim: the kubelet tells the exporter of resources of the node",
];

/** First Kubernetes that has resource.k8s.io/v1, and serves it by itself (KEP-4381). */
export const oldestForClaims = "1.34";

/**
 * Plugins 0.19.0 to 0.19.2, which operators v26.3.0 to v26.3.2 bring (their values.yaml). What the machine does not have is
 * left out, so they work without such devices (k8s-device-plugin v0.19.0 internal/cdi/cdi.go, "Ignoring empty CDI specs").
 */
const asksForInfiniband = (name: string, version: string): boolean =>
  semver.satisfies(version, name === "gpu-operator" ? ">=26.3.0 <26.3.3" : ">=0.19.0 <0.19.3");

/** A note about a release of the stack's as one about what is outside. */
export const externalNote = ({ external }: ClusterSpec, note: string): string =>
  external === undefined
    ? note
    : note.replace(/\b(?:gpuOperator|devicePlugin|dra)\.values/g, "external.values");

/** The plugin looks for the cards in a container of its own, so that has to have NVIDIA's runtime. */
export function withoutRuntimeClass(spec: ClusterSpec): Nested<string> {
  const own = ownValuesOf(spec);
  return (
    own?.kind === "devicePlugin" &&
    eraOf(spec.talosVersion) !== "nri" &&
    own.values !== undefined &&
    !own.partly &&
    (valueAt(own.values, "runtimeClassName") ?? "") === "" &&
    `${own.field}.values.runtimeClassName is not said: write \`runtimeClassName: nvidia\`, and have a RuntimeClass of that name with the handler nvidia; without it the plugin finds the cards only where nvidia is the machine's default runtime`
  );
}

/** What needs no action: whose the release is. */
export function externalInformation(spec: ClusterSpec): string[] {
  const outside = externalOf(spec);
  if (outside === undefined) return [];
  const { chart, namespace } = outside.release;
  const where = outside.assumesNamespace ? "" : ` in namespace ${namespace}`;
  return [
    `external: ${chart}${where} is not this stack's: nothing of it is made, changed or removed here`,
  ];
}

/**
 * What is not known of what something else installs, or has to be done there.
 *
 * @param crossing machines that get a Talos of another era, and in words from which.
 */
export function externalNotes(spec: ClusterSpec, crossing: string[], over: string): Nested<string> {
  const outside = externalOf(spec);
  if (spec.external === undefined || outside === undefined) return undefined;
  const { read, values: said } = spec.external;
  const { kind, by = "its installer", release } = outside;
  const known = said !== undefined || read?.values !== undefined;
  const { values } = release;
  const own = ownValuesOf(spec);
  return [
    read?.missing?.map(
      ({ kind, name }) =>
        `external: ${kind} ${name} is not among the files, so what it says is neither known nor judged; name it under external.files`,
    ),
    outside.assumesNamespace &&
      `external.namespace: no file says it, so ${release.namespace} is assumed, and the doctor looks for the release in the whole cluster; write the namespace, or name the file that says it under external.files (targetNamespace of a Flux Kustomization, namespace of a kustomization)`,
    filledPaths(values).map(
      (path) =>
        `external.values.${path}: another tool fills it in, so what it comes to is not known here, and not judged`,
    ),
    !known &&
      "external: its values are not known, and so not judged; name its files under external.files",
    known &&
      release.version === "" &&
      "external: which release of the chart it is is not known, so whether it has these values is not judged; write external.version",
    known &&
      !own?.partly &&
      kind === "gpuOperator" &&
      eraOf(spec.talosVersion) !== "legacy" &&
      envOf(valueAt(values, "validator", "driver", "env"), "DISABLE_DEV_CHAR_SYMLINK_CREATION") !==
        "true" &&
      "external.values.validator.driver.env does not set DISABLE_DEV_CHAR_SYMLINK_CREATION to true: where the validator cannot make links in /dev/char, every pod of the operator waits for it (cozystack#2323; Talos' documentation sets it)",
    crossing.length > 0 &&
      `${crossing.join(", ")}: ${over}: let ${by} apply the values for the newer one, by which external is judged, right before this update; from then until a machine is upgraded, no new pod gets a GPU there`,
  ];
}
