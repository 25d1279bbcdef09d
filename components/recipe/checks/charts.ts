import { chartOfField, releaseFields, wayFields, wayOf } from "../facts/way";
import { envOf } from "../kubernetes/values";
import { isMapping, valueAt } from "../mapping";
import { ownValuesOf } from "../outside/external";
import type { Era } from "../types";
import { type Checks, complaint } from "./check";
import * as semver from "semver";

/** Which chart offers the GPUs, and its release. */
export const chartChecks: Checks = {
  "kubernetes-mode": ({ plan: { spec } }) => {
    const [one, another] = wayFields.filter((field) => spec[field]);
    if (one !== undefined && spec.external) return complaint("external", "kubernetes-mode/external", { one });
    if (one !== undefined && another !== undefined)
      return complaint(another, `kubernetes-mode/${one === "gpuOperator" ? "beside-operator" : "two"}`, { one });
    if (one !== undefined || spec.external) return [];
    return complaint("gpuOperator", "kubernetes-mode/none", { ways: wayFields.slice(1) });
  },
  "chart-version": ({ spec, plan }) =>
    releaseFields.flatMap((field) => {
      const text = spec[field]?.version;
      if (text === undefined || (text === "" && plan.spec.external)) return [];
      const { takes, why, example } = lines[field];
      const version = semver.parse(text);
      const isFormer = field === "dra" && plan.spec.external !== undefined;
      if (version && text === text.trim() && (isFormer || takes(version))) return [];
      const things = { text, chart: chartOfField(field), why, example };
      return complaint(`${field}.version`, version ? "chart-version/other" : "chart-version/form", things);
    }),
  "operator-version": ({ spec, plan }) => {
    const version = semver.parse(spec.gpuOperator?.version ?? "");
    if (!version) return [];
    const field = "gpuOperator.version";
    if (version.version === "26.3.0") return complaint(field, "operator-version/crashes");
    const { oldest, why } = operators[plan.era];
    if (semver.gte(version, oldest)) return [];
    return complaint(field, "operator-version/old", { version, oldest, spec, why });
  },
  "plugin-namespace": ({ spec, plan }) =>
    (ownValuesOf(plan.spec) ? [] : wayFields) // somebody else opened it
      .filter((field) => givenToAll.includes(spec[field]?.namespace ?? ""))
      .map((field) => complaint(`${field}.namespace`, "plugin-namespace", { release: spec[field] })),
  "all-cards": ({ plan, spec, gpuMachines }) => {
    const { mode, runtimeClass, external, namespace } = plan.kubernetes;
    const fields = [
      ...(plan.spec.monitoring === undefined || wayOf(mode).findsNodes ? [] : ["monitoring"]),
      ...gpuMachines.flatMap((machine) =>
        machine.spec.powerLimit === undefined ? [] : [`${machine.field}.powerLimit`],
      ),
    ];
    if (runtimeClass.name !== "" || fields.length === 0) return [];
    if (mode !== "operator")
      return fields.map((field) =>
        runtimeClass.handler === ""
          ? complaint(field, "all-cards/way", { way: wayOf(mode), plan })
          : complaint(field, "all-cards/external"),
      );
    const told = envOf(valueAt(spec.gpuOperator?.values, "toolkit", "env"), namespacesOfAllCards) ?? "";
    return (
      external === true &&
      ownValuesOf(plan.spec)?.values !== undefined &&
      !told.split(",").includes(namespace) &&
      complaint("external.values.toolkit.env", "all-cards/toolkit", { namespace, namespacesOfAllCards })
    );
  },
  monitoring: ({ spec }) => {
    const exporter = spec.gpuOperator?.values?.dcgmExporter as unknown;
    if (!spec.monitoring || !isMapping(exporter) || exporter.enabled !== false) return [];
    return complaint("monitoring", "monitoring");
  },
};

/**
 * The oldest release of each chart that runs here. Up to v24.3.0 the operator's plugin takes the driver below /run/nvidia/driver,
 * unless a file says otherwise that v24.6.0 no longer has (assets/state-device-plugin/0400_configmap.yaml), and hands out devices
 * below it, which Talos has not; the plugin's first one with a value for the RuntimeClass, which Talos needs, is 0.11.0.
 * Releases after these and before the tables' oldest are taken, with a note. The operators v24.6.0 to v24.9.2 start the plugin as
 * v25.3.4 does (the same entry point and mounts), and the plugins 0.12 to 0.14 have every value that a stack sets (values.yaml);
 * that NVIDIA's matrix of support ends before today's Kubernetes is no fault that anybody has seen. What such a plugin lacks is
 * refused where a stack asks for it (device-list-strategy).
 * Source: tags and values.yaml of NVIDIA/gpu-operator and NVIDIA/k8s-device-plugin.
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
  // The former chart has the same program, driver root and class of devices (NVIDIA/k8s-dra-driver-gpu, deployments/helm): from outside it is right.
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
 * Oldest operator of an era, and what is wrong with older ones. Talos ≥ 1.13 documents and tests 26.3.1; NRI on a host that is read-only
 * came with 26.7.0 (gpu-operator#2382, PR#2514).
 */
const operators: Record<Era, { oldest: string; why: string }> = {
  legacy: { oldest: "0.0.0", why: "" },
  cdi: {
    oldest: "26.3.1",
    why: "older operators look for driver and libraries where Talos ≥ 1.13 does not have them, and their pods wait for ever",
  },
  nri: {
    oldest: "26.7.0",
    why: "the operator has to bring the toolkit there, and older ones want to write /etc/containerd, which is read-only: its pod does not start",
  },
};

/** By it the operator's toolkit is told of namespaces besides its own (nvidia-container-toolkit v1.20.1, cmd/nvidia-ctk-installer/main.go). */
const namespacesOfAllCards = "NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES";

/** Namespaces that every cluster has, and Talos does not exempt from Pod Security. */
const givenToAll = ["default", "kube-public", "kube-node-lease"];
