import type { ClusterSpec, MachineSpec, TimeoutsSpec } from "../spec/index";
import type { MachineRecipe, Plan } from "../types";
import { nvidiaExtension } from "../facts/extension";
import { defined, filled } from "../mapping";
import { seenBy } from "./apart";
import type { DriverField } from "./losses";
import { contractOf } from "../facts/contract";

/** Limits of an upgrade's waits, Go durations. */
export type UpgradeTimeouts = Required<Pick<TimeoutsSpec, "pull" | "drain" | "reboot" | "verify">>;

/** One machine of a plan: what follows for it, and what the stack says of it and of its cluster. Each step of a machine gets it whole. */
export interface PlannedMachine
  extends
    MachineRecipe,
    Pick<MachineSpec, "runningVersion" | "versionContract" | "drop">,
    Pick<ClusterSpec, "clusterName" | "clusterEndpoint" | "kubernetesVersion" | "reconcileToken"> {
  /** Release whose features its generated configuration uses. */
  contract: string;
  /** Whether its node is drained before it reboots. */
  drain: boolean;
  timeouts: UpgradeTimeouts;
  /** Whether it starts in maintenance mode, and its first configuration installs Talos. */
  installs: boolean;
  /** Fields of its driver that the stack leaves to the card; undefined where it names them, or the machine has no driver of the stack's. */
  unnamedDriver?: DriverField[];
  /** Talos API addresses of the cluster's other control planes: a control plane is not touched unless they are up. */
  otherControlPlanes: string[];
}

/** The limits of a machine's upgrade, defaults (as `TimeoutsSpec` states them) filled in. */
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
 * Fields of the driver that follow from the card, of an adopted machine with one: its owner may have chosen others before. An image or
 * an extension of NVIDIA's that the stack names is a choice, too.
 */
export function unnamedDriver(spec: ClusterSpec, machine: MachineSpec): DriverField[] {
  const { configuration, gpus = [], installerImage, extensions = [] } = machine;
  if (configuration !== "adopted" || gpus.length === 0 || installerImage !== undefined) return [];
  const named = Object.assign({}, seenBy(spec, machine).driver, ...extensions.map(nvidiaExtension));
  return (["branch", "flavour"] as const).filter((field) => named[field] === undefined);
}
