import * as semver from "semver";
import { releasesToCheckWith, checkValues } from "../facts/chart";
import { injectionOf } from "../facts/talos-release";
import {
  type GpuProviderField,
  gpuProviderFields,
  gpuProviderOfField,
} from "../facts/gpu-provider";
import { labelledByHand } from "../cluster/discovery";
import { envOf } from "../cluster/values";
import { storageModule, usesStorage } from "../machine/storage-module";
import { anyText, valueAt } from "../mapping";
import type { ClusterSpec } from "../spec/index";
import type { Checks, Find, Found } from "./check";

/** Checks of the charts' releases and values: facts that the tables lack, and tasks for the user. */
export const releaseRisks = {
  "chart-release": {
    severity: "note",
    rule: "This package knows the values of each chart's release",
    source: "components/recipe/facts/data/charts: values.yaml and templates of each release",
    ofFiles: false,
    find: ofReleases(({ field, chart, version }) => {
      const knownReleases = releasesToCheckWith(chart, version).map((judge) => judge.version);
      return knownReleases.length > 0 && !knownReleases.includes(version.replace(/^v/, ""))
        ? {
            field: `${field}.version`,
            problem: `${chart} ${version} is not in this package's tables`,
            why: `the package checks the chart's values against the known release${knownReleases.length > 1 ? "s" : ""} ${knownReleases.join(" and ")}`,
            remedy: "compare the values with `helm show values`",
          }
        : undefined;
    }),
  },
  "chart-value": {
    severity: "note",
    rule: "This package knows whether the chart's release has each value",
    source: "components/recipe/facts/data/charts: values.yaml and templates of each release",
    ofFiles: false,
    find: ofReleases(({ field, chart, version, values }) =>
      checkValues(chart, version, values).uncheckable.map((path) => ({
        field: `${field}.values.${path}`,
        problem: `it is unknown whether ${chart} ${version} has this value`,
        why: "Helm silently ignores a value that the chart does not have",
        remedy: "look for this value in `helm show values`",
      })),
    ),
  },
  "operator-support": {
    severity: "warning",
    rule: "NVIDIA supports the release of the operator",
    source: "docs.nvidia.com, GPU Operator, platform support",
    ofFiles: false,
    find: ofReleases(({ field, chart, version }) =>
      chart === "gpu-operator" && semver.lt(semver.coerce(version) ?? "99.0.0", "26.3.0")
        ? {
            field: `${field}.version`,
            problem: `NVIDIA no longer supports the operator's release ${version}`,
            why: "NVIDIA supports 26.7, and 26.3 is deprecated (NVIDIA's platform support page, 2026-11)",
            remedy: "plan an upgrade of the operator",
          }
        : undefined,
    ),
  },
  "infiniband-devices": {
    severity: "warning",
    rule: "The device plugin gives pods no devices other than GPUs",
    source:
      "k8s-device-plugin#1692: plugins 0.19.0 to 0.19.2, which operators v26.3.0 to v26.3.2 bring (their values.yaml)",
    ofFiles: false,
    // The plugin leaves out devices that the machine lacks, so pods work without them (k8s-device-plugin v0.19.0,
    // internal/cdi/cdi.go, "Ignoring empty CDI specs").
    find: ofReleases(({ field, chart, version }) => {
      const [first, repaired] =
        chart === "gpu-operator" ? ["26.3.0", "26.3.3"] : ["0.19.0", "0.19.3"];
      return semver.satisfies(version, `>=${first} <${repaired}`)
        ? {
            field: `${field}.version`,
            problem: `${chart} ${version} also gives the machine's InfiniBand, GPUDirect Storage and GDRCopy devices to each GPU container`,
            why: "another device plugin may give the same devices to another pod",
            remedy:
              chart === "gpu-operator"
                ? "use the operator v26.3.3 or newer, which brings the plugin 0.19.3"
                : "use the plugin 0.19.3 or newer",
          }
        : undefined;
    }),
  },
  "storage-untried": {
    severity: "note",
    rule: "No stack uses GPUDirect Storage, which is untested on Talos",
    source:
      "docs.nvidia.com, GPU Operator, GPUDirect RDMA and GPUDirect Storage (open kernel modules only)",
    ofFiles: false,
    find: ({ plan }) =>
      usesStorage(plan.spec)
        ? {
            field: "gpuOperator.values.gds.enabled",
            problem: `this package is untested with GPUDirect Storage on Talos (the stack loads the module ${storageModule} on each machine with a card)`,
            why: "NVIDIA supports GPUDirect Storage only with the open kernel modules. If the file system does not support GPUDirect Storage, cuFile copies through the host's memory",
            remedy: "try one machine first (upgrade.first)",
          }
        : undefined,
  },
  "own-discovery": {
    severity: "warning",
    rule: "Each node with a card has the label by which the operator finds GPU nodes, from Node Feature Discovery or from the stack",
    source: "gpu-operator v26.7.0, controllers/state_manager.go (gpuNodeLabels)",
    ofFiles: false,
    find: ({ spec }) =>
      anyText(valueAt(spec.gpuOperator?.values, "nfd", "enabled")) === "false" &&
      !labelledByHand(Object.values(spec.machines))
        ? {
            field: "gpuOperator.values.nfd.enabled",
            problem:
              "is false, so another Node Feature Discovery or this stack must label every GPU machine",
            why: "the operator runs no pod on a node without such a label",
            remedy:
              "make sure that the other Node Feature Discovery sets feature.node.kubernetes.io/pci-0300_10de.present, pci-0302_10de.present or pci-10de.present on each of these machines. Or set one of these labels to true in `labels` of each GPU machine",
          }
        : undefined,
  },
  "driver-folder": {
    severity: "warning",
    rule: "On Talos ≤ 1.12, hostPaths.driverInstallDir is not a folder below /var, because no program looks for the driver there",
    source:
      "cozystack, packages/system/gpu-operator/examples; in this package the validator does not run, and the plugin finds the driver by driver-ready (cluster/markers.ts)",
    ofFiles: false,
    find: ({ spec }) => {
      const folder = valueAt(spec.gpuOperator?.values, "hostPaths", "driverInstallDir");
      return injectionOf(spec.talosVersion) === "legacy" &&
        typeof folder === "string" &&
        folder.startsWith("/var/")
        ? {
            field: "gpuOperator.values.hostPaths.driverInstallDir",
            problem: `is ${folder}, and no program looks for the driver there`,
            why: "on Talos 1.12 and older the operator's validator does not run. Instead, a DaemonSet of this stack writes the marker files that tell the pods where the driver is",
            remedy: "remove this value, and your own DaemonSet that fills the folder",
          }
        : undefined;
    },
  },
  "operator-without-cdi": {
    severity: "note",
    rule: "With the operator on Talos 1.13 and 1.14, pods get their GPUs by CDI",
    source:
      "gpu-operator v26.3.3, assets/state-device-plugin/0500_daemonset.yaml: without CDI the plugin names the cards in a variable, which only NVIDIA's runtime reads",
    ofFiles: false,
    find: ({ spec }) =>
      injectionOf(spec.talosVersion) === "cdi" && // On older releases CDI is always off; on newer ones another check refuses this value.
      valueAt(spec.gpuOperator?.values, "cdi", "enabled") === false
        ? {
            field: "gpuOperator.values.cdi.enabled",
            problem: "is false",
            why: "without CDI only pods with NVIDIA's RuntimeClass get a GPU",
            remedy:
              "set `runtimeClassName: nvidia` in your own pods (the stack sets it in its pods)",
          }
        : undefined,
  },
  "strategy-without-cdi": {
    severity: "warning",
    rule: "If the operator's CDI is on, DEVICE_LIST_STRATEGY contains a strategy with CDI",
    source: "cloud-native-docs#534, upgrade page: the operator looks for `cdi-` in the override",
    ofFiles: false,
    find: ({ spec: { gpuOperator } }) => {
      const env = valueAt(gpuOperator?.values, "devicePlugin", "env");
      return valueAt(gpuOperator?.values, "cdi", "enabled") !== false &&
        !(envOf(env, "DEVICE_LIST_STRATEGY") ?? "cdi-").includes("cdi-")
        ? {
            field: "gpuOperator.values.devicePlugin.env",
            problem:
              "sets DEVICE_LIST_STRATEGY to a strategy without CDI, but cdi.enabled is not false",
            why: "the next release of the GPU Operator refuses this combination",
            remedy:
              "remove the variable. If CDI should be off, write `cdi: { enabled: false }` instead",
          }
        : undefined;
    },
  },
  "claims-release": {
    severity: "note",
    rule: "With dra, the stack sets kubernetesVersion, so that support for claims is known",
    source: "KEP-4381: resource.k8s.io/v1 is on by default from Kubernetes 1.34",
    ofFiles: false,
    find: ({ spec }) =>
      spec.dra !== undefined && spec.kubernetesVersion === undefined
        ? {
            field: "kubernetesVersion",
            problem: "is not set, so the cluster's Kubernetes release is unknown",
            why: `claims need Kubernetes ${oldestForClaims} or newer`,
            remedy: "set it, or check the release with `kubectl version`",
          }
        : undefined,
  },
} satisfies Checks;

/** First Kubernetes that serves resource.k8s.io/v1 by default (KEP-4381). */
export const oldestForClaims = "1.34";

/** A release of a GPU chart that a stack names. */
interface NamedRelease {
  field: GpuProviderField;
  chart: ReturnType<typeof gpuProviderOfField>["chart"];
  version: string;
  values: Record<string, unknown>;
}

/** Finds violations in each release of a GPU chart that the stack names. */
function ofReleases(find: (release: NamedRelease) => Found): Find {
  const releasesOf = (spec: ClusterSpec): NamedRelease[] =>
    gpuProviderFields.flatMap((field) => {
      const { version, values = {} } = spec[field] ?? {};
      return version === undefined
        ? []
        : [{ field, chart: gpuProviderOfField(field).chart, version, values }];
    });
  return ({ spec }) => releasesOf(spec).map(find);
}
