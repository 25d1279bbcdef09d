import { readPatch } from "../../recipe/machine/user-patches";
import type { FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import type { UpgradeTask } from "../task";

const asLoaded = (name: string): string => name.replaceAll("-", "_");

/**
 * Finding if the configuration of the machine's next boot lacks all kernel modules of the stack. The stack had staged
 * these modules earlier, so another tool has replaced the staged configuration. `talosctl patch machineconfig`, for example,
 * patches the active configuration, and discards the staged one (talos v1.13.0, cmd/talosctl/cmd/talos/patch.go).
 * Without the modules, NVIDIA's services wait for the driver in the next boot, until Talos reboots the machine
 * (talos#14373).
 */
export async function missingModulesFindings(
  machine: Machine,
  {
    machine: name,
    modules,
    configuration,
  }: Pick<UpgradeTask, "machine" | "modules" | "configuration">,
): Promise<FieldFinding[]> {
  if (modules.length === 0) return [];
  const names = new Set(modules.map(asLoaded));
  const { active, persistent = active } = await machine.configurations();
  if (persistent === undefined) return [];
  const { modules: configured, flaw } = readPatch(persistent, "");
  // A user may remove a single module on purpose, e.g. one that another module loads.
  const hasOne = configured.some((module) => names.has(asLoaded(module.name)));
  if (flaw !== undefined || hasOne) return [];
  return [
    {
      field: `machines.${name}`,
      problem: `the configuration of its next boot lacks the kernel modules ${modules.join(", ")}. This stack had written them there, so another tool has replaced that configuration`,
      why: "the machine would reboot without its driver, and NVIDIA's services would block that boot",
      remedy:
        configuration === "owned"
          ? "write the settings of the other tool into the stack's patches, then change `reconcileToken` and run again. The update then writes the stack's whole configuration again"
          : "change `reconcileToken` in the stack and run again. The update then writes the stack's settings again, and keeps the settings of the other tool",
    },
  ];
}
