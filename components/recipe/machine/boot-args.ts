import type { FieldFinding } from "../rules/finding";
import { splitKernelArgs } from "./kernel-args";
import type { NextImage, RunningImage } from "./losses";
import { readSchematic } from "./schematic";

// Kernel arguments that are not only in the image: GRUB boots machines without UEFI and those installed before Talos
// 1.10. It uses the arguments of the configuration that is active during the installation, unless this configuration
// sets `grubUseUKICmdline` (talos, cmd/installer/cmd/installer/install.go, cmd/installer/pkg/install, Install).

/** A machine, for the remedies. */
export interface BootArgsContext {
  /** Node name. */
  machine: string;
  address: string;
  /** Who owns the machine's configuration. Default: another tool. */
  configuration?: "owned" | "adopted" | undefined;
  /**
   * Whether a configuration is staged. `talosctl patch` and `talosctl edit` start from the active one, and discard it.
   * Default: no.
   */
  isStaged?: boolean;
}

/**
 * Finding for a configuration that Talos' installer refuses. Talos accepts it on an installed machine, since it checks
 * `machine.install` only before the installation (talos v1.13.0, v1alpha1_server.go, modeWrapper, and
 * types/v1alpha1/v1alpha1_validation.go; seen on Talos v1.13.0).
 */
export function argsConflictFindings(
  context: BootArgsContext,
  { hasArgsConflict }: RunningImage,
): FieldFinding[] {
  if (!hasArgsConflict) return [];
  const field = `machines.${context.machine}`;
  return [
    {
      field,
      problem:
        "the machine's configuration sets both machine.install.extraKernelArgs and machine.install.grubUseUKICmdline",
      why: "Talos' installer refuses this configuration, so the upgrade would fail after the drain",
      remedy:
        context.configuration === "owned"
          ? `in the stack's patches, remove extraKernelArgs or set grubUseUKICmdline: false, and first run an update with only this change, which needs no reboot. ${field}.kernelArgs takes the arguments with the next image`
          : `remove extraKernelArgs and list the arguments under ${field}.kernelArgs, or set grubUseUKICmdline: false to keep them in the configuration (\`talosctl -n ${context.address} edit machineconfig\`, without a reboot). ${thenRunAgain(context)}`,
    },
  ];
}

/**
 * Finding for kernel arguments in the next image that the machine's boot loader ignores. The function ignores arguments
 * that the running image already has without effect.
 */
export function ignoredArgsFindings(
  context: BootArgsContext,
  { commandLine = "", bootArgs, schematic }: RunningImage,
  next: Pick<NextImage, "kernelArgs">,
): FieldFinding[] {
  if (bootArgs === undefined) return [];
  const previousArgs = schematic === undefined ? [] : (readSchematic(schematic)?.kernelArgs ?? []);
  const knownArgs = new Set([commandLine, ...bootArgs, ...previousArgs].flatMap(splitKernelArgs));
  const args = next.kernelArgs.flatMap(splitKernelArgs).filter((arg) => !knownArgs.has(arg));
  if (args.length === 0) return [];
  return [
    {
      field: `machines.${context.machine}.kernelArgs`,
      problem: `the machine boots with GRUB, which ignores the image's arguments, so the kernel would start without ${args.join(" ")}`,
      why: "the machine would reboot, and these arguments would have no effect",
      remedy: remedyForGrub(context, args, bootArgs.length > 0),
    },
  ];
}

/**
 * Remedy that gives GRUB the stack's kernel arguments.
 *
 * @param hasOwnArgs whether the configuration has arguments of its own. The installer refuses these together with
 * `grubUseUKICmdline`.
 */
function remedyForGrub(context: BootArgsContext, args: string[], hasOwnArgs: boolean): string {
  const patchOf = (install: object): string => JSON.stringify({ machine: { install } });
  const useImage = patchOf({ grubUseUKICmdline: true });
  const listArgs = patchOf({ extraKernelArgs: args });
  if (context.configuration === "owned") {
    const patch = hasOwnArgs ? listArgs : `${useImage} (before Talos 1.12: ${listArgs})`;
    return `first run an update that does not change kernelArgs and adds a patch to machines.${context.machine}.patches, which needs no reboot: ${patch}. Then run the update with the arguments`;
  }
  const command = (patch: string): string =>
    `\`talosctl -n ${context.address} patch machineconfig --patch '${patch.replaceAll("'", `'\\''`)}'\``;
  const inConfiguration = `write the arguments to the machine's configuration: ${command(listArgs)}`;
  return hasOwnArgs
    ? `${inConfiguration}. The patch does not reboot the machine. ${thenRunAgain(context)}`
    : `on Talos 1.12 or newer, configure GRUB to use the image's arguments: ${command(useImage)}. On an older Talos, ${inConfiguration}. Neither patch reboots the machine. ${thenRunAgain(context)}`;
}

const thenRunAgain = ({ isStaged = false }: BootArgsContext): string =>
  isStaged
    ? "The command discards the staged configuration, so change `reconcileToken` before you run the update again"
    : "Then run the update again";
