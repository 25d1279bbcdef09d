import type { z } from "zod";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { readSchematic } from "../recipe/machine/schematic";
import { defined } from "../recipe/mapping";
import type { upgradeTask, UpgradeTask } from "../program/task";

/** Task of `upgrade` for a machine. */
export const upgradeTaskOf = (
  machine: PlannedMachine,
  schematicId: string,
  configurationHash: string,
): z.input<typeof upgradeTask> => ({
  ...goalOf(machine, configurationHash),
  // Adopted is the default, and leaving it out keeps the tasks of older package versions unchanged.
  ...(machine.configuration === "owned" ? { configuration: "owned" } : {}),
  role: machine.role,
  schematicId,
  installerImage: machine.installerImage,
  ...(machine.ownImage ? { ownImage: true } : {}),
  image: imageOf(machine),
  ...defined({ drop: machine.drop, driverFieldsFromCard: machine.driverFieldsFromCard }),
  drain: machine.drain,
  ...(machine.installs ? { installs: true } : {}),
  ...(machine.updatesAddons ? { addons: true } : {}),
  ...(machine.awaitsTest ? { awaitsTest: true } : {}),
  otherControlPlanes: machine.otherControlPlanes,
  timeouts: machine.timeouts,
});

/** Wanted state of a machine and its node, for Talos or for Omni. */
export const goalOf = (machine: PlannedMachine, configurationHash: string) => ({
  machine: machine.name,
  address: machine.address,
  talosVersion: machine.talosVersion,
  configurationHash,
  modules: machine.kernelModules.map(({ name }) => name),
  ...defined({
    driverVersion: machine.driverVersion && (machine.driverBranch ?? machine.driverVersion),
  }),
  extensionServices: machine.extensionServices.map(({ name, state }) => ({ name, state })),
  ...(machine.nodeTaints.length === 0
    ? {}
    : {
        taints: machine.nodeTaints.map(({ key, value, effect }) => ({
          key,
          ...defined({ value }),
          effect,
        })),
      }),
});

/** Content of the machine's image, by its schematic. */
export function imageOf({ schematic }: Pick<PlannedMachine, "schematic">): UpgradeTask["image"] {
  const read = readSchematic(schematic);
  if (read === undefined)
    throw new Error(
      `machine.schematic: is not a schematic; the upgrade program reads the image's extensions and kernel arguments from this field; write the YAML that the Image Factory accepts, e.g. "customization: { systemExtensions: … }"`,
    );
  const { extensions, kernelArgs, overlay } = read;
  return { extensions, kernelArgs, ...defined({ overlay }) };
}
