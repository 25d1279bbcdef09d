import { live } from "../facts/data/since.json";
import { parseTalosVersion } from "../facts/version";

/**
 * Effect of an update on a running machine. `none`: the machine already is as wanted. `live`: the program asks Talos to
 * apply the configuration without a reboot. If Talos refuses, the machine reboots. `reboot`: the machine reboots.
 */
export type UpdateEffect = "none" | "live" | "reboot";

/** Differences between a machine and its wanted state. */
export interface Differences {
  /** Whether the machine's Talos release, or the schematic of its image, differs from the wanted one. */
  image: boolean;
  /** Whether the machine's configuration changes. */
  configuration: boolean;
  /** Whether a part of the change has no effect before a boot (`waitsForBoot`). */
  boot: boolean;
}

/**
 * Decides whether a machine reboots. The upgrade program uses this rule when it reads a machine, and a preview uses it
 * to predict the program.
 */
export function updateEffectOf({ image, configuration, boot }: Differences): UpdateEffect {
  if (image || (configuration && boot)) return "reboot";
  return configuration ? "live" : "none";
}

/**
 * Whether Talos reads a part of the configuration only during an installation or an upgrade, so that a boot does not
 * apply it.
 */
export const isOfInstallation = (part: string): boolean =>
  isWithin(part, "machine.install") || part === "UnattendedInstallConfig";

/** Whether a part configures a kernel module. */
export const isOfModule = (part: string): boolean =>
  isWithin(part, "machine.kernel.modules") || part.startsWith("KernelModuleConfig/");

/** Name of the part of a configuration with containerd's settings, which are an item of `machine.files`. */
export const containerdFile = "machine.files.containerd";

/**
 * Whether a running Talos refuses a change of a part of its configuration, such as `machine.files`, and needs a boot
 * for it.
 */
export function needsBoot(part: string, talosVersion: string): boolean {
  const minor = minorOf(talosVersion);
  if (takesEverything(minor) || isDocument(part)) return false;
  return !Object.entries(live.parts).some(
    ([livePart, firstMinor]) => minor >= firstMinor && isWithin(part, livePart),
  );
}

/**
 * Whether a changed part takes full effect only at a boot, although a running Talos may accept the change. The upgrade
 * program then reboots the machine.
 *
 * Talos accepts a changed parameter of a loaded module, but the change has no effect before a boot (talos,
 * kernel_module_spec.go). So a machine with NVIDIA's modules reboots if its modules change. On Talos 1.13 and older,
 * such a machine also reboots for the parts that a running Talos refuses, without an attempt: containerd's settings are
 * among them.
 *
 * @param gpu whether the machine has NVIDIA's modules.
 */
export function waitsForBoot(part: string, talosVersion: string, gpu: boolean): boolean {
  if (isOfInstallation(part)) return false;
  if (gpu && isOfModule(part)) return true;
  if (!takesEverything(minorOf(talosVersion))) return gpu && needsBoot(part, talosVersion);
  return part !== containerdFile && live.atBootOnly.some((bootPart) => isWithin(part, bootPart));
}

const minorOf = (talosVersion: string): number =>
  parseTalosVersion(talosVersion)?.minor ?? live.everythingFrom;

const takesEverything = (minor: number): boolean => minor >= live.everythingFrom;

/**
 * Whether a part is a separate document. The name of such a part begins with the document's kind, and therefore with an
 * upper-case letter.
 */
const isDocument = (part: string): boolean => /^[A-Z]/.test(part);

const isWithin = (part: string, whole: string): boolean =>
  part === whole || part.startsWith(`${whole}.`);
