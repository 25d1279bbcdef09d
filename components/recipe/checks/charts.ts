import {
  chartOfField,
  releaseFields,
  gpuProviderFields,
  gpuProviderOf,
} from "../facts/gpu-provider";
import { envOf } from "../cluster/values";
import { isMapping, valueAt } from "../mapping";
import { ownValuesOf } from "../external/external";
import type { Injection } from "../types";
import type { Checks } from "./check";
import * as semver from "semver";

/** Checks of the GPU provider's chart and of its release. */
export const chartChecks = {
  "kubernetes-mode": {
    rule: "Exactly one of gpuOperator, devicePlugin, dra and external is set",
    source:
      "gpu-operator, assets/state-device-plugin (the operator brings a device plugin of its own); aicr#1327 (plugin and DRA driver on one node)",
    ofFiles: true,
    find: ({ plan: { spec } }) => {
      const [provider, otherProvider] = gpuProviderFields.filter((field) => spec[field]);
      if (provider !== undefined && spec.external)
        return {
          field: "external",
          problem: `is set together with ${provider}`,
          why: whyNotTwo,
          remedy: `keep ${provider} if this stack installs it, or external if another tool does`,
        };
      if (provider !== undefined && otherProvider !== undefined)
        return {
          field: otherProvider,
          problem: `is set together with ${provider}`,
          why: `${provider === "gpuOperator" ? "the GPU Operator installs its own device plugin, and " : ""}${whyNotTwo}`,
          remedy: "remove one of the two",
        };
      if (provider !== undefined || spec.external) return [];
      return {
        field: "gpuOperator",
        problem: `is missing, and none of ${gpuProviderFields.slice(1).join(", ")} and external is set`,
        why: "no pod could request a GPU",
        remedy:
          "add one of them, e.g. `gpuOperator: { version: v26.3.3 }`, or `external` if Flux, Argo CD or another tool installs the GPU provider",
      };
    },
  },
  "chart-version": {
    rule: "The stack sets each chart to one exact release that this package supports",
    source:
      "Helm: without an exact version it installs the newest chart; tags of the charts' repositories",
    ofFiles: true,
    find: ({ spec, plan }) =>
      releaseFields.flatMap((field) => {
        const text = spec[field]?.version;
        if (text === undefined || (text === "" && plan.spec.external)) return [];
        const { isSupported, why, example } = supported[field];
        const version = semver.parse(text);
        const mayBeOlder = field === "dra" && plan.spec.external !== undefined;
        if (version && text === text.trim() && (mayBeOlder || isSupported(version))) return [];
        const remedy = `write one exact release, e.g. \`${example}\``;
        if (version)
          return {
            field: `${field}.version`,
            problem: `"${text}" is not a supported release of the chart ${chartOfField(field)}`,
            why,
            remedy,
          };
        return {
          field: `${field}.version`,
          problem: `"${text}" is not a release of the chart`,
          why: "Helm would choose the newest release at each update, so the chart's values cannot be checked",
          remedy,
        };
      }),
  },
  "operator-version": {
    rule: "The operator's release supports the Talos version",
    source: "gpu-operator#2239, fixed by PR#2244 in v26.3.1; siderolabs/docs v1.13, nvidia-gpu",
    ofFiles: true,
    find: ({ spec, plan }) => {
      const version = semver.parse(spec.gpuOperator?.version ?? "");
      if (!version) return [];
      const field = "gpuOperator.version";
      if (version.version === "26.3.0")
        return {
          field,
          problem: "v26.3.0 does not run on Talos",
          why: "the operator parses the operating system's version as a number, and crashes because the version of Talos begins with v",
          remedy: "use v26.3.1 or newer, e.g. v26.3.3",
        };
      const { oldest, why } = operators[plan.injection];
      if (semver.gte(version, oldest)) return [];
      return {
        field,
        problem: `v${version.version} is older than v${oldest}, which Talos ${spec.talosVersion} needs`,
        why,
        remedy: `use v${oldest} or newer`,
      };
    },
  },
  "plugin-namespace": {
    rule: "NVIDIA's pods do not run in the namespaces default, kube-public and kube-node-lease, which refuse privileged pods",
    source:
      "k8s-device-plugin, deployments/helm/nvidia-device-plugin/templates/validation.yml (allowDefaultNamespace); talos, Pod Security",
    ofFiles: true,
    find: ({ spec, plan }) =>
      (ownValuesOf(plan.spec) ? [] : gpuProviderFields) // The release's owner has already labelled this namespace for privileged pods.
        .map((field) => [field, spec[field]?.namespace ?? ""] as const)
        .filter(([, namespace]) => givenToAll.includes(namespace))
        .map(([field, namespace]) => ({
          field: `${field}.namespace`,
          problem: `is ${namespace}`,
          why: "Pod Security's baseline profile refuses NVIDIA's pods in this namespace, and this package does not allow privileged pods in a shared namespace",
          remedy: "leave it out, or name a namespace that only the GPU provider uses",
          // The release's owner may allow privileged pods in the namespace.
          ofFiles: false as const,
        })),
  },
  "all-cards": {
    rule: "The pods for power limits and metrics see all GPUs of their machine, through NVIDIA's RuntimeClass or through the NRI plugin",
    source:
      "nvidia-container-toolkit v1.20.1, cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go (it silently ignores any other namespace)",
    ofFiles: true,
    find: ({ plan, spec, gpuMachines }) => {
      const { mode, runtimeClass, external, namespace } = plan.kubernetes;
      const fields = [
        ...(plan.spec.monitoring === undefined || gpuProviderOf(mode).findsNodes
          ? []
          : ["monitoring"]),
        ...gpuMachines.flatMap((machine) =>
          machine.spec.powerLimit === undefined ? [] : [`${machine.field}.powerLimit`],
        ),
      ];
      if (runtimeClass.name !== "" || fields.length === 0) return [];
      if (mode !== "operator")
        return fields.map((field) =>
          runtimeClass.handler === ""
            ? {
                field,
                problem: `is set together with ${gpuProviderOf(mode).field} on Talos ${plan.spec.talosVersion}`,
                why: "the pods for this field must see all cards without requesting them, and on this Talos version only the operator's toolkit makes that possible",
                remedy: "use gpuOperator, or leave this field out",
              }
            : {
                field,
                problem:
                  "is set, but external.kind is dra and external.runtimeClassName is missing",
                why: "the pods for this field must see all cards without requesting them, and only the nvidia runtime makes that possible",
                remedy:
                  "set external.runtimeClassName to a RuntimeClass whose handler is nvidia, or leave this field out",
              },
        );
      const listedNamespaces =
        envOf(valueAt(spec.gpuOperator?.values, "toolkit", "env"), namespacesOfAllCards) ?? "";
      return external === true &&
        ownValuesOf(plan.spec)?.values !== undefined &&
        !listedNamespaces.split(",").includes(namespace)
        ? {
            field: "external.values.toolkit.env",
            problem: `does not list ${namespace} in ${namespacesOfAllCards}`,
            why: "the operator's toolkit gives all cards only to pods in the listed namespaces, so the pods that set power limits would fail with NVML: ERROR_LIBRARY_NOT_FOUND",
            remedy: `add \`{ name: ${namespacesOfAllCards}, value: ${namespace} }\``,
          }
        : undefined;
    },
  },
  monitoring: {
    rule: "A stack with monitoring runs the DCGM exporter",
    source: "gpu-operator, values.yaml, dcgmExporter",
    ofFiles: true,
    find: ({ spec }) => {
      const exporter = spec.gpuOperator?.values?.dcgmExporter as unknown;
      if (!spec.monitoring || !isMapping(exporter) || exporter.enabled !== false) return [];
      return {
        field: "monitoring",
        problem: "is set, but gpuOperator.values.dcgmExporter.enabled is false",
        why: "the ServiceMonitor and the dashboard would get no metrics",
        remedy: "remove that value, or remove `monitoring`",
      };
    },
  },
} satisfies Checks;

/** Reason why a cluster can have only one GPU provider. */
const whyNotTwo = "two GPU providers would hand out the same GPUs";

/**
 * Releases of each chart that run on Talos.
 *
 * Up to v24.3.0 the operator's device plugin by default looks for the driver and its devices below /run/nvidia/driver.
 * Talos lacks this folder. v24.6.0 removed the file with this default (assets/state-device-plugin/0400_configmap.yaml).
 * From 0.11.0 on the device plugin's chart has a value for the RuntimeClass, which Talos needs.
 *
 * For a supported release that is older than all releases in the tables, the checks only print a note. The operators
 * v24.6.0 to v24.9.2 start the plugin as v25.3.4 does (the same entry point and mounts). The plugins 0.12 to 0.14 have
 * every value that a stack sets (values.yaml). NVIDIA's support matrix lists only old Kubernetes releases for these
 * charts, but no failure on newer ones is known. If such a plugin lacks a feature that the values use, the check
 * `device-list-strategy` refuses the stack. Source: tags and values.yaml of NVIDIA/gpu-operator and
 * NVIDIA/k8s-device-plugin.
 */
const supported = {
  gpuOperator: {
    isSupported: (version: semver.SemVer) => semver.gte(version, "24.6.0"),
    why: "the operator's releases are named by year and month, and releases before v24.6.0 look for the driver's devices below /run/nvidia/driver, a folder that Talos lacks",
    example: "v26.3.3",
  },
  devicePlugin: {
    isSupported: (version: semver.SemVer) => semver.gte(version, "0.11.0") && version.major < 20,
    why: "versions that begin with a year belong to the operator, and plugin charts before 0.11.0 cannot set the RuntimeClass that Talos needs",
    example: "0.19.3",
  },
  // An external release may be of NVIDIA's former chart, which has the same program, driver root and device class
  // (NVIDIA/k8s-dra-driver-gpu, deployments/helm).
  dra: {
    isSupported: (version: semver.SemVer) => version.major < 20,
    why: "versions that begin with a year belong to NVIDIA's former chart, nvidia-dra-driver-gpu, in another repository",
    example: "0.5.0",
  },
  leaderWorkerSet: {
    isSupported: (version: semver.SemVer) => semver.gte(version, "0.8.0"),
    why: "releases before 0.8.0 cannot create a volume for each pod, and an upgrade from them deletes the CRD with all LeaderWorkerSets (lws#880)",
    example: "0.9.0",
  },
} as const;

/**
 * Oldest operator release for each way in which Talos injects cards, and why older operators fail. For Talos ≥ 1.13,
 * Sidero Labs documents and tests operator 26.3.1. From 26.7.0 on the operator supports NRI on a read-only host
 * (gpu-operator#2382, PR#2514).
 */
const operators: Record<Injection, { oldest: string; why: string }> = {
  legacy: { oldest: "0.0.0", why: "" },
  cdi: {
    oldest: "26.3.1",
    why: "older operators look for driver and libraries in folders that Talos ≥ 1.13 does not use, and their pods wait forever",
  },
  nri: {
    oldest: "26.7.0",
    why: "Talos ≥ 1.15 needs the operator's toolkit, and an older operator's toolkit fails because it writes to /etc/containerd, which is read-only",
  },
};

/**
 * Environment variable of the operator's toolkit that lists further namespaces whose pods may get all cards
 * (nvidia-container-toolkit v1.20.1, cmd/nvidia-ctk-installer/main.go).
 */
const namespacesOfAllCards = "NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES";

/** Namespaces that every cluster has and that Talos does not exempt from Pod Security. */
const givenToAll = ["default", "kube-public", "kube-node-lease"];
