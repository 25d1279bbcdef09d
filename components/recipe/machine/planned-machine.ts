import type { ClusterSpec, MachineSpec, TimeoutsSpec } from "../spec/index";
import type { MachineRecipe, Plan } from "../types";
import { nvidiaExtension } from "../facts/extension";
import { defined, filled } from "../mapping";
import { specFor } from "./apart";
import type { DriverField } from "./losses";
import { contractOf } from "../facts/contract";
import { inUpgradeOrder, upgradeStages } from "./order";

/** Time limits of an upgrade's waits, as Go durations, e.g. `10m`. */
export type UpgradeTimeouts = Required<Pick<TimeoutsSpec, "pull" | "drain" | "reboot" | "verify">>;

/**
 * One machine of a plan: its recipe, and the fields of the stack about the machine and the cluster. Every step of a
 * machine's update gets this object.
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
   * Whether the machine's upgrade also updates kube-proxy, CoreDNS and flannel: the last control plane of a cluster that
   * the stack bootstraps.
   */
  updatesAddons: boolean;
  /**
   * Whether the node stays cordoned after a reboot until the smoke test of the machine has passed. This is so for the
   * last machine of `upgrade.first`, if other workers wait for it. The nodes of the earlier ones take pods again. Pods
   * that can run only there could otherwise stop the drain of the next machine by a disruption budget.
   */
  awaitsTest: boolean;
  /**
   * Fields of `driver` that the stack does not set for an adopted machine, so that they follow from the card
   * (`driverFieldsFromCard`). Absent if the stack sets all of them.
   */
  driverFieldsFromCard?: DriverField[];
  /**
   * Talos API addresses of the cluster's other control planes: the update changes a control plane only if the others
   * are up.
   */
  otherControlPlanes: string[];
}

/** The time limits of a machine's upgrade, with the defaults of `TimeoutsSpec`. */
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

/** The machines of a plan, in the plan's order. */
export function plannedMachines({ spec, machines }: Plan): PlannedMachine[] {
  const { clusterName, clusterEndpoint, kubernetesVersion, reconcileToken } = spec;
  const ofCluster = {
    ...defined({ clusterName, clusterEndpoint, kubernetesVersion, reconcileToken }),
    drain: spec.upgrade?.drain !== false,
    timeouts: upgradeTimeouts(spec.timeouts),
    installs: spec.bootstrap === true,
  };
  const controlPlanes = machines.filter(({ role }) => role === "controlplane");
  const lastControlPlane = inUpgradeOrder(controlPlanes).at(-1)?.name;
  const lastFirst = lastOfFirst(spec.upgrade, machines);
  return machines.map((machine) => {
    const ownSpec = spec.machines[machine.name]!;
    const { runningVersion, versionContract, drop } = ownSpec;
    return {
      ...machine,
      ...ofCluster,
      ...defined({ runningVersion, versionContract, drop }),
      ...filled({ driverFieldsFromCard: driverFieldsFromCard(spec, ownSpec) }),
      contract: contractOf({
        talosVersion: machine.talosVersion,
        ...defined({ runningVersion, versionContract }),
      }),
      updatesAddons: spec.bootstrap === true && machine.name === lastControlPlane,
      awaitsTest: machine.name === lastFirst,
      otherControlPlanes: controlPlanes
        .filter(({ name }) => name !== machine.name)
        .map(({ address }) => address),
    };
  });
}

/**
 * Name of the last machine of `upgrade.first`, if other workers wait for it. Undefined for an Omni machine, which Omni
 * cordons and uncordons.
 */
function lastOfFirst(
  upgrade: ClusterSpec["upgrade"],
  machines: MachineRecipe[],
): string | undefined {
  if (upgradeStages(machines, upgrade).rest.length === 0) return undefined;
  const last = machines.find(({ name }) => name === upgrade?.first?.at(-1));
  return last?.configuration === "omni" ? undefined : last?.name;
}

/**
 * Fields of an adopted GPU machine's driver that follow from the card, because the stack does not set them. The machine
 * may run a driver with other values, which the user chose before. An installer image or an NVIDIA extension in the
 * stack also sets these fields.
 */
export function driverFieldsFromCard(spec: ClusterSpec, machine: MachineSpec): DriverField[] {
  const { configuration, gpus = [], installerImage, extensions = [] } = machine;
  if (configuration !== "adopted" || gpus.length === 0 || installerImage !== undefined) return [];
  const named = Object.assign(
    {},
    specFor(spec, machine).driver,
    ...extensions.map(nvidiaExtension),
  );
  return (["branch", "flavour"] as const).filter((field) => named[field] === undefined);
}
