import type { ClusterSpec, MachineSpec, TimeoutsSpec } from "../spec/index";
import type { MachineRecipe, Plan } from "../types";
import { defined } from "../mapping";
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
    const { runningVersion, versionContract, drop } = spec.machines[machine.name]!;
    return {
      ...machine,
      ...ofCluster,
      ...defined({ runningVersion, versionContract, drop }),
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
