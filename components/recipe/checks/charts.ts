import {
  chartOfField,
  releaseFields,
  gpuProviderFields,
  gpuProviderOf,
} from "../facts/gpu-provider";
import { envOf } from "../cluster/values";
import { isMapping, valueAt } from "../mapping";
import { ownValuesOf } from "../external/external";
import type { Era } from "../types";
import type { Checks } from "./check";
import * as semver from "semver";

/** Which chart offers the GPUs, and its release. */
export const chartChecks = {
  "kubernetes-mode": {
    rule: "Exactly one of gpuOperator, devicePlugin, dra and external is set",
    source:
      "gpu-operator, assets/state-device-plugin (the operator brings a device plugin of its own); aicr#1327 (plugin and DRA driver on one node)",
    ofFiles: true,
    find: ({ plan: { spec } }) => {
      const [one, another] = gpuProviderFields.filter((field) => spec[field]);
      if (one !== undefined && spec.external)
        return {
          field: "external",
          problem: `is set together with ${one}`,
          why: twice,
          remedy: `keep ${one} if this stack installs it, or external if another tool does`,
        };
      if (one !== undefined && another !== undefined)
        return {
          field: another,
          problem: `is set together with ${one}`,
          why: `${one === "gpuOperator" ? "the GPU Operator installs its own device plugin, and " : ""}${twice}`,
          remedy: "leave one of the two out",
        };
      if (one !== undefined || spec.external) return [];
      return {
        field: "gpuOperator",
        problem: `is missing, and none of ${gpuProviderFields.slice(1).join(", ")} and external is set`,
        why: "nothing would offer GPUs to Kubernetes",
        remedy:
          "add one of them, e.g. `gpuOperator: { version: v26.3.3 }`, or `external` if Flux, Argo CD or another tool installs it",
      };
    },
  },
  "chart-version": {
    rule: "The stack pins each chart to one exact release that runs on Talos",
    source:
      "Helm: without an exact version the newest chart of the day is taken; tags of the charts' repositories",
    ofFiles: true,
    find: ({ spec, plan }) =>
      releaseFields.flatMap((field) => {
        const text = spec[field]?.version;
        if (text === undefined || (text === "" && plan.spec.external)) return [];
        const { takes, why, example } = lines[field];
        const version = semver.parse(text);
        const isFormer = field === "dra" && plan.spec.external !== undefined;
        if (version && text === text.trim() && (isFormer || takes(version))) return [];
        const remedy = `write one exact release, e.g. \`${example}\``;
        if (version)
          return {
            field: `${field}.version`,
            problem: `"${text}" is not a release of the chart ${chartOfField(field)} that runs here`,
            why,
            remedy,
          };
        return {
          field: `${field}.version`,
          problem: `"${text}" is not a release of the chart`,
          why: "the same stack would install something else tomorrow, and its values cannot be checked",
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
          why: "it reads the release of the operating system as a number, and Talos' begins with a v: the operator crashes",
          remedy: "take v26.3.1 or newer, e.g. v26.3.3",
        };
      const { oldest, why } = operators[plan.era];
      if (semver.gte(version, oldest)) return [];
      return {
        field,
        problem: `v${version.version} is older than v${oldest}, and Talos ${spec.talosVersion} needs that`,
        why,
        remedy: `take v${oldest} or newer`,
      };
    },
  },
  "plugin-namespace": {
    rule: "NVIDIA's pods run in a namespace of their own",
    source:
      "k8s-device-plugin, deployments/helm/nvidia-device-plugin/templates/validation.yml (allowDefaultNamespace); talos, Pod Security",
    ofFiles: true,
    find: ({ spec, plan }) =>
      (ownValuesOf(plan.spec) ? [] : gpuProviderFields) // the owner of the release opened its namespace
        .map((field) => [field, spec[field]?.namespace ?? ""] as const)
        .filter(([, namespace]) => givenToAll.includes(namespace))
        .map(([field, namespace]) => ({
          field: `${field}.namespace`,
          problem: `is ${namespace}`,
          why: "Talos enforces the baseline profile there, which refuses NVIDIA's pods, and this package does not open a namespace that everybody uses",
          remedy: "leave it out, or take a namespace of its own",
        })),
  },
  "all-cards": {
    rule: "The pods for power limits and metrics can see every GPU of their machine: by a RuntimeClass with NVIDIA's handler, or by the NRI plugin in a namespace that it lists",
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
                why: "its pods look at all cards of a machine without a claim, and only the operator's toolkit gives them there",
                remedy: "take gpuOperator, or leave it out",
              }
            : {
                field,
                problem:
                  "is set together with external.kind dra, without external.runtimeClassName",
                why: "its pods look at all cards of a machine without a claim, and only the nvidia runtime gives them",
                remedy: "name a RuntimeClass whose handler is nvidia, or leave it out",
              },
        );
      const told =
        envOf(valueAt(spec.gpuOperator?.values, "toolkit", "env"), namespacesOfAllCards) ?? "";
      return (
        external === true &&
        ownValuesOf(plan.spec)?.values !== undefined &&
        !told.split(",").includes(namespace) && {
          field: "external.values.toolkit.env",
          problem: `does not list ${namespace} in ${namespacesOfAllCards}`,
          why: "its pods look at all cards of a machine without a claim, and the operator's toolkit silently ignores other namespaces: they would say NVML: ERROR_LIBRARY_NOT_FOUND",
          remedy: `add \`{ name: ${namespacesOfAllCards}, value: ${namespace} }\``,
        }
      );
    },
  },
  monitoring: {
    rule: "With monitoring set, the DCGM exporter is on",
    source: "gpu-operator, values.yaml, dcgmExporter",
    ofFiles: true,
    find: ({ spec }) => {
      const exporter = spec.gpuOperator?.values?.dcgmExporter as unknown;
      if (!spec.monitoring || !isMapping(exporter) || exporter.enabled !== false) return [];
      return {
        field: "monitoring",
        problem: "but gpuOperator.values.dcgmExporter.enabled is false",
        why: "nothing would export the metrics that the ServiceMonitor and the dashboard are for",
        remedy: "leave that value out, or monitoring",
      };
    },
  },
} satisfies Checks;

/** Why two providers of GPUs in one cluster are one too many. */
const twice = "both would hand out the same GPUs";

/**
 * The oldest release of each chart that runs here. Up to v24.3.0 the operator's plugin takes the driver below
 * /run/nvidia/driver by default; v24.6.0 dropped the file of that default
 * (assets/state-device-plugin/0400_configmap.yaml). It hands out devices below that folder, which Talos lacks; the
 * plugin's first one with a value for the RuntimeClass, which Talos needs, is 0.11.0. Releases after these and before
 * the tables' oldest are taken, with a note. The operators v24.6.0 to v24.9.2 start the plugin as v25.3.4 does (the
 * same entry point and mounts); the plugins 0.12 to 0.14 have every value that a stack sets (values.yaml); NVIDIA's
 * matrix of support ends before today's Kubernetes, but no fault of that is known. If a stack uses a feature that
 * such a plugin lacks, the checks refuse it (device-list-strategy). Source: tags and values.yaml of
 * NVIDIA/gpu-operator and NVIDIA/k8s-device-plugin.
 */
const lines = {
  gpuOperator: {
    takes: (version: semver.SemVer) => semver.gte(version, "24.6.0"),
    why: "the operator's releases are named by year and month; those before v24.6.0 look for the driver's devices below /run/nvidia/driver, where Talos has none",
    example: "v26.3.3",
  },
  devicePlugin: {
    takes: (version: semver.SemVer) => semver.gte(version, "0.11.0") && version.major < 20,
    why: "versions that begin with a year are the operator's, and the chart before 0.11.0 has no value for the RuntimeClass that Talos needs",
    example: "0.19.3",
  },
  // The former chart has the same program, driver root and class of devices (NVIDIA/k8s-dra-driver-gpu,
  // deployments/helm): from outside it is right.
  dra: {
    takes: (version: semver.SemVer) => version.major < 20,
    why: "versions that begin with a year are those of NVIDIA's former chart, nvidia-dra-driver-gpu, in another repository",
    example: "0.5.0",
  },
  leaderWorkerSet: {
    takes: (version: semver.SemVer) => semver.gte(version, "0.8.0"),
    why: "an upgrade from a release before 0.8.0 deletes the definition of LeaderWorkerSets, and each of them with it (lws#880); those releases also give a pod no volume of its own",
    example: "0.9.0",
  },
} as const;

/**
 * Oldest operator of an era, and what is wrong with older ones. Talos ≥ 1.13 documents and tests 26.3.1; NRI on a
 * host that is read-only came with 26.7.0 (gpu-operator#2382, PR#2514).
 */
const operators: Record<Era, { oldest: string; why: string }> = {
  legacy: { oldest: "0.0.0", why: "" },
  cdi: {
    oldest: "26.3.1",
    why: "older operators look for driver and libraries where Talos ≥ 1.13 does not have them, and their pods wait forever",
  },
  nri: {
    oldest: "26.7.0",
    why: "the operator has to bring the toolkit there, and older ones want to write /etc/containerd, which is read-only: its pod does not start",
  },
};

/**
 * It names further namespaces to the operator's toolkit (nvidia-container-toolkit v1.20.1,
 * cmd/nvidia-ctk-installer/main.go).
 */
const namespacesOfAllCards = "NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES";

/** Namespaces that every cluster has, and Talos does not exempt from Pod Security. */
const givenToAll = ["default", "kube-public", "kube-node-lease"];
