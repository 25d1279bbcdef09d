import * as semver from "semver";
import { contract } from "../../facts/data/since.json";

// Remedies for kernel arguments on machines that boot with GRUB: see ../boot-args.ts.

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

/**
 * Remedy that gives GRUB the stack's kernel arguments.
 *
 * @param hasOwnArgs whether the configuration has arguments of its own. The installer refuses these together with
 * `grubUseUKICmdline`.
 */
export function remedyForGrub(
  context: BootArgsContext,
  args: string[],
  hasOwnArgs: boolean,
): string {
  const { runningRelease } = context;
  const lacksSetting =
    runningRelease !== undefined && semver.lt(runningRelease, contract.documentsFrom);
  const listing = changeOf(context, { extraKernelArgs: args });
  if (hasOwnArgs || lacksSetting)
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

/** talosctl with the machine's address. */
export const talosctlOn = ({ address }: BootArgsContext): string =>
  address === undefined ? "talosctl" : `talosctl -n ${address}`;

/** What follows a change of the configuration. */
const afterwards = (context: BootArgsContext): string =>
  context.configuration === "owned"
    ? "First run an update with only this change, which needs no reboot. Then run the update with the new image"
    : `This needs no reboot. ${thenRunAgain(context)}`;

/** What follows a command that changes the configuration. */
export const thenRunAgain = ({ isStaged = false }: BootArgsContext): string =>
  isStaged
    ? "The command discards the staged configuration, so change `reconcileToken` before you run the update again"
    : "Then run the update again";
