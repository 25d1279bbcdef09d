import { labelledByHand } from "../chart-notes";
import { splits } from "../facts/sharing";
import { migManagerHangs, migManagerRelease } from "../kubernetes/mig-manager";
import { isMapping, valueAt } from "../mapping";
import { absolutePath } from "../rules";
import type { CheckContext, Found } from "./check";

/** A value of a chart with which something goes wrong. */
export interface WrongValue {
  /** Where it stands in the stack. */
  at: string;
  /** Whether a value is one of those that are meant. */
  is: (value: unknown, context: CheckContext) => boolean;
  /** Whether it counts in this stack. */
  when?: (context: CheckContext) => boolean;
  problem: string | ((value: unknown, context: CheckContext) => string);
  why: string;
  /** Default: leave it out. */
  remedy?: string;
}

/** What a stack says of values with which something goes wrong. */
export const wrongValues = (context: CheckContext, values: readonly WrongValue[]): Found =>
  values.map(({ at, is, when, problem, why, remedy = "leave it out" }) => {
    const value = valueAt(context.spec, ...at.split("."));
    if (!is(value, context) || when?.(context) === false) return false;
    return { field: at, problem: typeof problem === "string" ? problem : problem(value, context), why, remedy };
  });

/** A value that has to be something else; `null` stands for the chart's own. */
const mustBe = (at: string, what: string, takes: (value: unknown) => boolean, why: string): WrongValue => ({
  ...{ at, problem: `must be ${what}`, why, remedy: "write that, or leave it out" },
  is: (value) => value !== undefined && value !== null && !takes(value),
});

const oneOf = (at: string, ...words: string[]): WrongValue =>
  mustBe(
    at,
    `one of ${words.join(", ")}`,
    (value) => words.includes(value as string),
    "NVIDIA's program refuses anything else",
  );

const mustBeAbsolute = (at: string): WrongValue =>
  mustBe(
    at,
    "an absolute path",
    (value) => typeof value === "string" && absolutePath(value) === undefined,
    "the kubelet mounts no other, and the pods do not start",
  );

/** Values whose word matters. Sources: k8s-device-plugin, api/config/v1/consts.go; gpu-operator, api/nvidia/v1/clusterpolicy_types.go. */
export const wrongWords: WrongValue[] = [
  oneOf("gpuOperator.values.mig.strategy", "none", "single", "mixed"),
  oneOf("gpuOperator.values.daemonsets.updateStrategy", "RollingUpdate", "OnDelete"),
  oneOf("devicePlugin.values.migStrategy", "none", "single", "mixed"),
  oneOf("devicePlugin.values.deviceIDStrategy", "uuid", "index"),
  // The template asks for the type (k8s-device-plugin, templates/daemonset-device-plugin.yml).
  ...["failOnInitError", "compatWithCPUManager", "gdsEnabled", "mofedEnabled", "noTimestamp", "gfd.noTimestamp"].map(
    (path) =>
      mustBe(
        `devicePlugin.values.${path}`,
        "true or false",
        (value) => typeof value === "boolean",
        "the chart passes over anything else in silence, a text too",
      ),
  ),
  mustBe(
    "gpuOperator.values.operator.runtimeClass",
    "nvidia",
    (value) => value === "nvidia",
    "Talos' extension calls its runtime so, and what runs on the GPUs names this RuntimeClass",
  ),
  mustBe(
    "gpuOperator.values.sandboxWorkloads.defaultWorkload",
    "container",
    (value) => value === "container",
    "the operator would run no device plugin on the machines, which then offer no GPU (controllers/state_manager.go)",
  ),
  mustBe(
    "gpuOperator.values.gds.enabled",
    "false",
    (value) => value === false,
    "it waits for the kernel module nvidia_fs, which no extension of Talos has",
  ),
  ...["nvidiaDriverRoot", "cdi.nvidiaHookPath", "mps.root"].map((path) =>
    mustBeAbsolute(`devicePlugin.values.${path}`),
  ),
  ...["hostPaths.rootFS", "hostPaths.driverInstallDir", "hostPaths.kubeletRootDir", "toolkit.installDir"].map((path) =>
    mustBeAbsolute(`gpuOperator.values.${path}`),
  ),
  mustBe("devicePlugin.values.updateStrategy", "a mapping", isMapping, "Kubernetes refuses the DaemonSet"),
  oneOf("devicePlugin.values.updateStrategy.type", "RollingUpdate", "OnDelete"),
];

/** Values that name what the stack makes. */
export const wrongNames: WrongValue[] = [
  {
    at: "devicePlugin.values.runtimeClassName",
    is: (value, { gpuMachines }) =>
      value !== undefined &&
      value !== "nvidia" &&
      !(
        (value === null || value === "") &&
        gpuMachines.every(({ spec: { containerd } }) => containerd?.nvidiaDefaultRuntime === true)
      ),
    problem: "must be nvidia",
    why: "with another runtime the plugin has no driver libraries and finds no card (not needed on machines with nvidiaDefaultRuntime)",
    remedy: "write that, or leave it out",
  },
  {
    at: "devicePlugin.values.namespaceOverride",
    is: (value, { plan }) => Boolean(value ?? "") && value !== plan.kubernetes.release.namespace,
    problem: (_, { plan }) => `must be ${plan.kubernetes.release.namespace}`,
    why: "the namespace of the release is the one that lets NVIDIA's pods in (Pod Security)",
    remedy: "write that, or leave it out",
  },
];

/**
 * Folders that Talos ≥ 1.13 has or where one can be made. Which of them it is makes no difference: the validator finds the link
 * /usr/bin/nvidia-smi first, and then takes the driver of the host, whatever the folder (gpu-operator v26.3.3,
 * cmd/nvidia-validator/main.go, runValidation; siderolabs/extensions v1.13.0, nvidia-pkgs; gpu-operator#2501).
 */
const foldersOfTalos = /^\/(usr\/local|var|run)(\/|$)/;

/** Values of the operator that Talos does not fit. */
export const unlikeTalos: WrongValue[] = [
  {
    at: "gpuOperator.values.toolkit.enabled",
    is: (value) => value === true,
    problem: "installs NVIDIA's toolkit by the operator",
    why: "it edits containerd's configuration on the host, which Talos has read-only, and the toolkit is in the image already",
  },
  {
    at: "gpuOperator.values.migManager.version",
    is: (value) => typeof value === "string" && migManagerHangs(value),
    when: ({ spec }) => spec.sharing?.mig !== undefined,
    problem: (version) => `${version as string} hangs on Talos`,
    why: "the MIG manager from v0.13 on waits for systemd before it does anything: the cards are never split, and nothing says so",
    remedy: `leave it out (${migManagerRelease} follows)`,
  },
  {
    at: "gpuOperator.values.cdi.enabled",
    is: (value) => value === true,
    when: ({ plan }) => plan.era === "legacy",
    problem: "turns CDI on, on Talos ≤ 1.12",
    why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc: containers get the card without its libraries",
    remedy: "leave it out, or take Talos ≥ 1.13",
  },
  {
    at: "gpuOperator.values.hostPaths.driverInstallDir",
    is: (value) => typeof value === "string" && !foldersOfTalos.test(value),
    when: ({ plan }) => plan.era === "cdi",
    problem: "is a folder that Talos neither has nor lets a pod make",
    why: "the operator's pods mount it from the host, whose root is read-only, so none of them would start",
    remedy: "write /usr/local, or leave it out",
  },
];

const isTrue = (value: unknown): boolean => String(value) === "true";
const isFalse = (value: unknown): boolean => String(value) === "false";

const noDra =
  "this package builds no dynamic resource allocation (DRA) yet: what requests nvidia.com/gpu would stay Pending";

/** Values with which the chart installs, or fails, and no GPU is ever offered. */
export const withoutGpus: WrongValue[] = [
  {
    at: "gpuOperator.values.driver.enabled",
    is: isTrue,
    problem: "installs NVIDIA's driver by the operator",
    why: "there is no driver image for Talos, which brings the driver as an extension: its pod never starts, and everything waits for it",
  },
  ...["gpuOperator", "devicePlugin"].map((field) => ({
    at: `${field}.values.devicePlugin.enabled`,
    is: isFalse,
    problem: "turns the device plugin off",
    why: noDra,
    remedy: "leave it out; where a DRA driver gives out the cards, say `external: { kind: dra }` instead of this chart",
  })),
  {
    at: "gpuOperator.values.clusterPolicy.deployCR",
    is: isFalse,
    problem: "leaves the ClusterPolicy out",
    why: "the operator does nothing without one: no device plugin comes, and the node offers no GPU",
  },
  {
    at: "gpuOperator.values.gpuCluster.deployCR",
    is: isTrue,
    problem: "asks for the operator's stack for dynamic resource allocation",
    why: `the chart refuses it together with a ClusterPolicy; ${noDra}`,
  },
  {
    at: "gpuOperator.values.cdi.nriPluginEnabled",
    is: isTrue,
    problem: "needs the operator's container toolkit, whose container holds the NRI plugin",
    why: "on Talos the image has the toolkit and the operator's is off: charts from v26.7 on refuse this value, and with older ones pods never see a card",
  },
  ...["worker", "master"].map((part) => ({
    at: `gpuOperator.values.node-feature-discovery.${part}.enable`,
    is: isFalse,
    when: ({ spec }: CheckContext) => !labelledByHand(Object.values(spec.machines)),
    problem: `turns Node Feature Discovery's ${part} off`,
    why: "the operator finds GPU nodes by its labels alone: without them no operand is placed anywhere",
  })),
  {
    at: "gpuOperator.values.migManager.enabled",
    is: isFalse,
    when: ({ spec: { sharing } }) => sharing?.mig !== undefined && splits(sharing.mig.profile),
    problem: "turns the MIG manager off, and sharing.mig wants cards split",
    why: "nothing else splits them: the node offers whole cards, or none",
  },
];
