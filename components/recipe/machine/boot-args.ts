import * as semver from "semver";
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
  /** Its address. Default: commands name no machine. */
  address?: string;
  /** Who owns the machine's configuration. Default: another tool. */
  configuration?: "owned" | "adopted" | undefined;
  /**
   * Whether a configuration is staged. `talosctl patch` and `talosctl edit` start from the active one, and discard it.
   * Default: no.
   */
  isStaged?: boolean;
  /** Talos release that the machine runs. Default: unknown, and a remedy names the commands of all releases. */
  runningRelease?: string;
}

/** First release of Talos that knows `grubUseUKICmdline` (types/v1alpha1/v1alpha1_types.go of v1.11.5 and v1.12.0). */
const SINCE = "1.12.0";

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
          : `remove extraKernelArgs and list the arguments under ${field}.kernelArgs, or set grubUseUKICmdline: false to keep them in the configuration (\`${talosctlOn(context)} edit machineconfig\`, without a reboot). ${thenRunAgain(context)}`,
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
  const { runningRelease } = context;
  const listing = changeOf(context, { extraKernelArgs: args });
  if (hasOwnArgs || (runningRelease !== undefined && semver.lt(runningRelease, SINCE)))
    return `write the arguments to the machine's configuration: ${listing}. ${afterwards(context)}`;
  const usingImage = `configure GRUB to use the image's arguments: ${changeOf(context, { grubUseUKICmdline: true })}`;
  return runningRelease === undefined
    ? `on Talos 1.12 or newer, ${usingImage}. On an older Talos, write the arguments to the machine's configuration: ${listing}. ${afterwards(context)}`
    : `${usingImage}. ${afterwards(context)}`;
}

/** Remedy that keeps kernel arguments which the machine's image has, and which only GRUB's configuration can keep. */
export const keepArgsOfGrub = (context: BootArgsContext, args: string[]): string =>
  `write them to the machine's configuration: ${changeOf(context, { extraKernelArgs: args })}. ${afterwards(context)}`;

/** A change of `machine.install`: a command, or a patch if the stack owns the configuration. */
function changeOf(context: BootArgsContext, install: object): string {
  const patch = JSON.stringify({ machine: { install } });
  return context.configuration === "owned"
    ? `the patch ${patch} under machines.${context.machine}.patches`
    : `\`${talosctlOn(context)} patch machineconfig --patch '${patch.replaceAll("'", `'\\''`)}'\``;
}

const talosctlOn = ({ address }: BootArgsContext): string =>
  address === undefined ? "talosctl" : `talosctl -n ${address}`;

/** What follows a change of the configuration. */
const afterwards = (context: BootArgsContext): string =>
  context.configuration === "owned"
    ? "First run an update with only this change, which needs no reboot. Then run the update with the new image"
    : `This needs no reboot. ${thenRunAgain(context)}`;

const thenRunAgain = ({ isStaged = false }: BootArgsContext): string =>
  isStaged
    ? "The command discards the staged configuration, so change `reconcileToken` before you run the update again"
    : "Then run the update again";
