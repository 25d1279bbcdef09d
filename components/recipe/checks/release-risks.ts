import * as semver from "semver";
import { judgesOf, judgeValues } from "../facts/chart";
import { eraOf } from "../facts/talos-release";
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

/**
 * Releases of the charts and their values, as far as they go beyond the tables or leave work to the cluster's owner.
 */
export const releaseRisks = {
  "chart-release": {
    severity: "note",
    rule: "The tables list the release of the chart",
    source: "components/recipe/facts/data/charts: values.yaml and templates of each release",
    ofFiles: false,
    find: ofReleases(({ field, chart, version }) => {
      const judges = judgesOf(chart, version).map((judge) => judge.version);
      return (
        judges.length > 0 &&
        !judges.includes(version.replace(/^v/, "")) && {
          field: `${field}.version`,
          problem: `${chart} ${version} is not in the tables`,
          why: `its values are checked by the tables of ${judges.join(" and ")}`,
          remedy: "compare the values with `helm show values`",
        }
      );
    }),
  },
  "chart-value": {
    severity: "note",
    rule: "For each value the tables say whether the chart's release has it",
    source: "components/recipe/facts/data/charts: values.yaml and templates of each release",
    ofFiles: false,
    find: ofReleases(({ field, chart, version, values }) =>
      judgeValues(chart, version, values).open.map((path) => ({
        field: `${field}.values.${path}`,
        problem: `it is unknown whether ${chart} ${version} has this value`,
        why: "Helm ignores a value that a chart does not have",
        remedy: "look for it in `helm show values`",
      })),
    ),
  },
  "operator-support": {
    severity: "warning",
    rule: "NVIDIA supports the release of the operator",
    source: "docs.nvidia.com, GPU Operator, platform support",
    ofFiles: false,
    find: ofReleases(
      ({ field, chart, version }) =>
        chart === "gpu-operator" &&
        semver.lt(semver.coerce(version) ?? "99.0.0", "26.3.0") && {
          field: `${field}.version`,
          problem: `${version} is a release of the operator that NVIDIA no longer supports`,
          why: "NVIDIA supports 26.7; 26.3 is deprecated (platform support, 2026-11)",
          remedy: "plan its upgrade",
        },
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
      return (
        semver.satisfies(version, `>=${first} <${repaired}`) && {
          field: `${field}.version`,
          problem: `${chart} ${version} gives each GPU container the machine's InfiniBand, GPUDirect Storage and GDRCopy devices, too`,
          why: "other device plugins may hand out these devices",
          remedy: "take the plugin 0.19.3, which the operator v26.3.3 brings, or newer",
        }
      );
    }),
  },
  "storage-untried": {
    severity: "note",
    rule: "GPUDirect Storage was tried on Talos",
    source:
      "docs.nvidia.com, GPU Operator, GPUDirect RDMA and GPUDirect Storage (open kernel modules only)",
    ofFiles: false,
    find: ({ plan }) =>
      usesStorage(plan.spec) && {
        field: "gpuOperator.values.gds.enabled",
        problem: `GPUDirect Storage was not tried on Talos by us; the module ${storageModule} is loaded on each machine with a card`,
        why: "NVIDIA supports it only with the open kernel modules, and cuFile goes through the processor's memory where the file system does not take part",
        remedy: "try one machine first (upgrade.first)",
      },
  },
  "own-discovery": {
    severity: "warning",
    rule: "Node Feature Discovery or the stack labels each node with a card for the operator",
    source: "gpu-operator v26.7.0, controllers/state_manager.go (gpuNodeLabels)",
    ofFiles: false,
    find: ({ spec }) =>
      anyText(valueAt(spec.gpuOperator?.values, "nfd", "enabled")) === "false" &&
      !labelledByHand(Object.values(spec.machines)) && {
        field: "gpuOperator.values.nfd.enabled",
        problem:
          "is false, so the cluster's own Node Feature Discovery must run on every GPU machine",
        why: "the operator places no operand on a node without its label",
        remedy:
          "have it set feature.node.kubernetes.io/pci-0300_10de.present, pci-0302_10de.present or pci-10de.present there",
      },
  },
  "driver-folder": {
    severity: "warning",
    rule: "No value names a driver folder for the operator's validator, which does not run on Talos 1.12 and older",
    source:
      "cozystack, packages/system/gpu-operator/examples; here the validator does not run, and the plugin finds the driver by driver-ready (cluster/markers.ts)",
    ofFiles: false,
    find: ({ spec }) => {
      const folder = valueAt(spec.gpuOperator?.values, "hostPaths", "driverInstallDir");
      return (
        eraOf(spec.talosVersion) === "legacy" &&
        typeof folder === "string" &&
        folder.startsWith("/var/") && {
          field: "gpuOperator.values.hostPaths.driverInstallDir",
          problem: `is ${folder}, and no program looks for the driver there`,
          why: "on Talos 1.12 and older the operator's validator does not run; a DaemonSet of this stack writes its marker files, by which pods find the driver",
          remedy: "remove this value, and the DaemonSet that fills the folder",
        }
      );
    },
  },
  "operator-without-cdi": {
    severity: "note",
    rule: "Pods get their GPUs by CDI on Talos ≥ 1.13",
    source:
      "gpu-operator v26.3.3, assets/state-device-plugin/0500_daemonset.yaml: without CDI the plugin names the cards in a variable, which only NVIDIA's runtime reads",
    ofFiles: false,
    find: ({ spec }) =>
      eraOf(spec.talosVersion) === "cdi" && // before it is always so, and after it refused
      valueAt(spec.gpuOperator?.values, "cdi", "enabled") === false && {
        field: "gpuOperator.values.cdi.enabled",
        problem: "is false",
        why: "a pod gets its GPU only from NVIDIA's runtime",
        remedy:
          "write `runtimeClassName: nvidia` in pods of your own (those of this stack have it)",
      },
  },
  "strategy-without-cdi": {
    severity: "warning",
    rule: "The operator's values for CDI and for the device list strategy agree",
    source: "cloud-native-docs#534, upgrade page: the operator looks for `cdi-` in the override",
    ofFiles: false,
    find: ({ spec: { gpuOperator } }) => {
      const env = valueAt(gpuOperator?.values, "devicePlugin", "env");
      return (
        valueAt(gpuOperator?.values, "cdi", "enabled") !== false &&
        !(envOf(env, "DEVICE_LIST_STRATEGY") ?? "cdi-").includes("cdi-") && {
          field: "gpuOperator.values.devicePlugin.env",
          problem: "sets DEVICE_LIST_STRATEGY without CDI, and CDI is on",
          why: "the next release of the GPU Operator refuses this",
          remedy: "to keep CDI off, write `cdi: { enabled: false }` instead",
        }
      );
    },
  },
  "claims-release": {
    severity: "note",
    rule: "With dra, the stack names a Kubernetes release, so that support for claims is known",
    source: "KEP-4381: resource.k8s.io/v1 is on by default from Kubernetes 1.34",
    ofFiles: false,
    find: ({ spec }) =>
      spec.dra !== undefined &&
      spec.kubernetesVersion === undefined && {
        field: "kubernetesVersion",
        problem: "is missing, so the cluster's release is unknown",
        why: `claims need Kubernetes ${oldestForClaims} or newer`,
        remedy: "write it, or look at `kubectl version`",
      },
  },
} satisfies Checks;

/** First Kubernetes that has resource.k8s.io/v1, and serves it by itself (KEP-4381). */
export const oldestForClaims = "1.34";

/** A release of a GPU chart that a stack names. */
interface NamedRelease {
  field: GpuProviderField;
  chart: ReturnType<typeof gpuProviderOfField>["chart"];
  version: string;
  values: Record<string, unknown>;
}

/** A rule about each of them. */
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
