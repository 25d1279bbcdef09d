import type { ClusterSpec, MachineSpec, TimeoutsSpec } from "../spec/index";
import type { MachineRecipe, Plan } from "../types";
import { nvidiaExtension } from "../facts/extension";
import { defined, filled } from "../mapping";
import { specFor } from "./apart";
import type { DriverField } from "./losses";
import { contractOf } from "../facts/contract";

/** Limits of an upgrade's waits, as Go durations. */
export type UpgradeTimeouts = Required<Pick<TimeoutsSpec, "pull" | "drain" | "reboot" | "verify">>;

/**
 * One machine of a plan: its recipe, and the fields of the stack about it and its cluster. Every step of a machine's
 * update gets this object.
 */
export interface PlannedMachine
  extends
    MachineRecipe,
    Pick<MachineSpec, "runningVersion" | "versionContract" | "drop">,
    Pick<ClusterSpec, "clusterName" | "clusterEndpoint" | "kubernetesVersion" | "reconcileToken"> {
  /** Talos release whose features the generated configuration uses. */
  contract: string;
  /** Whether the update drains the node before a reboot. */
  drain: boolean;
  timeouts: UpgradeTimeouts;
  /** Whether the machine starts in maintenance mode, so that its first configuration installs Talos. */
  installs: boolean;
  /**
   * Fields of an adopted machine's driver that the stack does not set, so that they follow from the card
   * (`unnamedDriver`). Absent if there are none.
   */
  unnamedDriver?: DriverField[];
  /**
   * Talos API addresses of the cluster's other control planes: the update changes a control plane only if they are up.
   */
  otherControlPlanes: string[];
}

/** The limits of a machine's upgrade, with the defaults of `TimeoutsSpec` filled in. */
export function upgradeTimeouts({
  pull,
  drain,
  reboot,
  verify,
}: TimeoutsSpec = {}): UpgradeTimeouts {
  return {
    pull: pull ?? "10m",
    drain: drain ?? "5m",
    reboot: reboot ?? "30m",
    verify: verify ?? "5m",
  };
}

/** The machines of a plan, in its order. */
export function plannedMachines({ spec, machines }: Plan): PlannedMachine[] {
  const { clusterName, clusterEndpoint, kubernetesVersion, reconcileToken } = spec;
  const ofCluster = {
    ...defined({ clusterName, clusterEndpoint, kubernetesVersion, reconcileToken }),
    drain: spec.upgrade?.drain !== false,
    timeouts: upgradeTimeouts(spec.timeouts),
    installs: spec.bootstrap === true,
  };
  const controlPlanes = machines.filter(({ role }) => role === "controlplane");
  return machines.map((machine) => {
    const ownSpec = spec.machines[machine.name]!;
    const { runningVersion, versionContract, drop } = ownSpec;
    return {
      ...machine,
      ...ofCluster,
      ...defined({ runningVersion, versionContract, drop }),
      ...filled({ unnamedDriver: unnamedDriver(spec, ownSpec) }),
      contract: contractOf({
        talosVersion: machine.talosVersion,
        ...defined({ runningVersion, versionContract }),
      }),
      otherControlPlanes: controlPlanes
        .filter(({ name }) => name !== machine.name)
        .map(({ address }) => address),
    };
  });
}

/**
 * Fields of an adopted GPU machine's driver that follow from the card. Its owner may have chosen other values before.
 * An installer image or an NVIDIA extension in the stack counts as a choice.
 */
export function unnamedDriver(spec: ClusterSpec, machine: MachineSpec): DriverField[] {
  const { configuration, gpus = [], installerImage, extensions = [] } = machine;
  if (configuration !== "adopted" || gpus.length === 0 || installerImage !== undefined) return [];
  const named = Object.assign(
    {},
    specFor(spec, machine).driver,
    ...extensions.map(nvidiaExtension),
  );
  return (["branch", "flavour"] as const).filter((field) => named[field] === undefined);
}
