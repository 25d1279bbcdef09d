import type { z } from "zod";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { readSchematic } from "../recipe/machine/schematic";
import type { TaintTask, upgradeTask, UpgradeTask } from "./program/task";

/** What the machine program is told of a machine. */
export function upgradeTaskOf(
  machine: PlannedMachine,
  schematicId: string,
  configurationHash: string,
): z.input<typeof upgradeTask> {
  const { configuration, drop, timeouts } = machine;
  return {
    machine: machine.name,
    address: machine.address,
    // Of an adopted machine nothing is written, so an upgrade of the package leaves its task as it was.
    ...(configuration === "owned" ? { configuration } : {}),
    role: machine.role,
    talosVersion: machine.talosVersion,
    schematicId,
    installerImage: machine.installerImage,
    ...(machine.ownImage ? { ownImage: true } : {}),
    image: imageOf(machine),
    ...(drop === undefined ? {} : { drop }),
    configurationHash,
    modules: machine.kernelModules.map((module) => module.name),
    ...(machine.driverVersion === undefined ? {} : { driverVersion: machine.driverBranch ?? machine.driverVersion }),
    extensionServices: machine.extensionServices.map(({ name: service, state }) => ({ name: service, state })),
    drain: machine.drain,
    ...(machine.installs ? { installs: true } : {}),
    otherControlPlanes: machine.otherControlPlanes,
    timeouts,
    ...taintsOf(machine),
  };
}

/** Taints of a machine's node, where it has some. */
export function taintsOf({ nodeTaints }: Pick<PlannedMachine, "nodeTaints">): { taints?: TaintTask["taints"] } {
  if (nodeTaints.length === 0) return {};
  return {
    taints: nodeTaints.map(({ key, value, effect }) => ({ key, ...(value === undefined ? {} : { value }), effect })),
  };
}

/** What the machine's image has, as its schematic says. */
export function imageOf({ schematic }: Pick<PlannedMachine, "schematic">): UpgradeTask["image"] {
  const read = readSchematic(schematic);
  if (read === undefined)
    throw new Error(
      `machine.schematic: is not a schematic; it says what the image has; write it as the Image Factory does`,
    );
  const { extensions, kernelArgs, overlay } = read;
  return { extensions, kernelArgs, ...(overlay === undefined ? {} : { overlay }) };
}
