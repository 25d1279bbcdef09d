import { predictUpdate } from "../../components/machine/foretell";
import { machineStates } from "../../components/recipe/effect/effect";
import type { MachineState } from "../../components/recipe/effect/state";
import { planOf } from "../support/plans";

const state = (talosVersion: string, kubernetesVersion = "v1.35.0", settings: object = {}) =>
  machineStates(planOf("rtx5070ti", { talosVersion, kubernetesVersion, ...settings }))[
    "k8s-worker4"
  ]!;
const olderContract = { machineDefaults: { versionContract: "v1.11" } };
const olderState = state("v1.12.6");
const newerState = state("v1.12.7");
const ownedState = (contract: string) => ({
  ...olderState,
  configuration: "owned",
  mayRebootIfChanged: { contract },
});
const controlPlaneState = (
  kubernetesVersion: string,
  list: "rebootsIfChanged" | "changesWithoutReboot",
) => ({
  ...ownedState("v1.12"),
  rebootsIfChanged: { talosVersion: "v1.12.6" },
  [list]: { talosVersion: "v1.12.6", role: "controlplane", kubernetesVersion },
});

/** An edit of a machine, and what the preview says of it. */
interface Edit {
  name: string;
  /** Name of the machine. Default: gpu-1. */
  machine?: string;
  /** The machine's state that the last update wanted; undefined for a new machine. */
  before: MachineState | undefined;
  /** Outputs of the last update; undefined for a new machine. */
  lastOutputs: Record<string, unknown> | undefined;
  /** The wanted state of the edited stack. */
  after: MachineState;
}
const previewEdit = ({ machine = "gpu-1", before, lastOutputs, after }: Edit) => {
  const { word: text, refused } = predictUpdate(machine, before, lastOutputs, after);
  return { text, refused };
};

/** Outputs of an update that succeeded, with the release that the machine has run since then. */
const outputsOfSuccess = (talosVersion = "v1.12.6") => ({ talosVersion });
/** An update that failed leaves no outputs. */
const outputsOfFailure = {};

/** An edit of Kubernetes' release on a control plane. */
const kubernetesEdit = (
  versionBefore: string,
  versionAfter: string,
  list: Parameters<typeof controlPlaneState>[1] = "rebootsIfChanged",
): Omit<Edit, "name"> => ({
  machine: "cp-1",
  before: controlPlaneState(versionBefore, list),
  lastOutputs: outputsOfSuccess(),
  after: controlPlaneState(versionAfter, list),
});

test.each<Edit & { reports: RegExp }>([
  {
    name: "an edit",
    before: olderState,
    lastOutputs: outputsOfSuccess(),
    after: newerState,
    reports: /^reboots: yes: talosVersion: v1\.12\.6 → v1\.12\.7/,
  },
  {
    name: "an edit over two minors",
    before: state("v1.11.5", "v1.34.1", olderContract),
    lastOutputs: outputsOfSuccess("v1.11.5"),
    after: state("v1.13.9", "v1.34.1", { ...olderContract, gpuOperator: { version: "v26.3.3" } }),
    reports:
      /^reboots: yes: .*2 reboots: v1\.11\.5 → v1\.12\.12 → v1\.13\.9 \(.*; it is then drained .*2 times 45m/,
  },
  // Pulumi may find no change for the machine, although the failed update may have changed it.
  {
    name: "an edit that is reverted after its update failed",
    before: newerState,
    lastOutputs: outputsOfFailure,
    after: olderState,
    reports: /^reboots: only if .*the last update failed/,
  },
  {
    name: "a new machine",
    before: undefined,
    lastOutputs: undefined,
    after: olderState,
    reports: /^reboots: only if it does not already run Talos v1\.12\.6/,
  },
])("the preview accepts $name, and reports the machine's reboots", ({ reports, ...edit }) => {
  const { text, refused } = previewEdit(edit);
  expect(text).toMatch(reports);
  expect(refused).toBeUndefined();
});

test.each<Edit & { problem: RegExp }>([
  {
    name: "a downgrade",
    before: newerState,
    lastOutputs: outputsOfSuccess("v1.12.7"),
    after: olderState,
    problem: /^machines\.gpu-1\.talosVersion: .*downgrades/,
  },
  {
    name: "a change from adopted to owned",
    before: { ...olderState, configuration: "adopted" },
    lastOutputs: outputsOfSuccess(),
    after: { ...olderState, configuration: "owned" },
    problem:
      /^machines\.gpu-1\.configuration: changes from adopted to owned; .*; write adopted\. To get owned, /,
  },
  {
    name: "a configuration that the running release cannot read",
    before: ownedState("v1.11"),
    lastOutputs: outputsOfSuccess("v1.11.6"),
    after: ownedState("v1.12"),
    problem: /^machines\.gpu-1\.versionContract: .*HostnameConfig; write `versionContract: v1\.11`/,
  },
  {
    name: "three minors of Kubernetes",
    ...kubernetesEdit("v1.33.1", "v1.36.0"),
    problem:
      /^kubernetesVersion: v1\.33\.1 → v1\.36\.0 crosses 3 minor .*; go to v1\.34 first\. .*upgrade-k8s/,
  },
  {
    name: "three minors of Kubernetes on a machine that needs no reboot",
    ...kubernetesEdit("v1.33.1", "v1.36.0", "changesWithoutReboot"),
    problem: /^kubernetesVersion: /,
  },
  {
    name: "an earlier minor of Kubernetes",
    ...kubernetesEdit("v1.34.0", "v1.33.1"),
    problem: /^kubernetesVersion: .*no downgrade.*; set it to v1\.34\.0 or newer\. /,
  },
])("the preview refuses $name", ({ problem, ...edit }) =>
  expect(previewEdit(edit).refused).toMatch(problem),
);

test.each<Edit>([
  {
    name: "a change from adopted to owned after a failed update",
    before: { ...olderState, configuration: "adopted" },
    lastOutputs: outputsOfFailure,
    after: { ...olderState, configuration: "owned" },
  },
  {
    name: "a contract that the running release can read",
    before: ownedState("v1.11"),
    lastOutputs: outputsOfSuccess("v1.11.6"),
    after: ownedState("v1.11"),
  },
  { name: "the next minor of Kubernetes", ...kubernetesEdit("v1.33.1", "v1.34.0") },
  { name: "an older patch of Kubernetes", ...kubernetesEdit("v1.33.1", "v1.33.0") },
  {
    name: "an earlier minor of Kubernetes with a new reconcileToken",
    machine: "cp-1",
    before: controlPlaneState("v1.34.0", "rebootsIfChanged"),
    lastOutputs: outputsOfSuccess(),
    after: {
      ...controlPlaneState("v1.33.1", "rebootsIfChanged"),
      mayRebootIfChanged: { reconcileToken: "upgraded by hand" },
    },
  },
])("the preview accepts $name", (edit) => expect(previewEdit(edit).refused).toBeUndefined());
