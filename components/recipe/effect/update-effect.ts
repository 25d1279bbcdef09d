import { live } from "../facts/data/since.json";
import { parseTalosVersion } from "../facts/version";

/**
 * Effect of an update on a running machine: `none` (the machine is as wanted), `live` (Talos takes the configuration
 * as it runs, and the machine reboots only if Talos refuses) or `reboot`.
 */
export type UpdateEffect = "none" | "live" | "reboot";

/** How a machine differs from what it should be. */
export interface Differences {
  /** It runs another Talos release, or the image of another schematic. */
  image: boolean;
  /** Its next boot would use a changed configuration. */
  configuration: boolean;
  /** Of that configuration something has no effect before a boot (`waitsForBoot`). */
  boot: boolean;
}

/**
 * The one rule of who reboots. The upgrade program acts by it on what it sees of a machine; a preview says by it what
 * the program will do.
 */
export function updateEffectOf({ image, configuration, boot }: Differences): UpdateEffect {
  if (image || (configuration && boot)) return "reboot";
  return configuration ? "live" : "none";
}

/**
 * Whether a part of the configuration is read when Talos is installed or upgraded alone, so that no boot brings
 * anything of it.
 */
export const isOfInstallation = (part: string): boolean =>
  isWithin(part, "machine.install") || part === "UnattendedInstallConfig";

/** Whether a part is of a kernel module. */
export const isOfModule = (part: string): boolean =>
  isWithin(part, "machine.kernel.modules") || part.startsWith("KernelModuleConfig/");

/** The part that is containerd's configuration, among those of `machine.files`. */
export const containerdFile = "machine.files.containerd";

/**
 * Whether a running Talos refuses a change of a part of its configuration, such as `machine.files`, and wants a boot
 * for it.
 */
export function needsBoot(part: string, talosVersion: string): boolean {
  const minor = minorOf(talosVersion);
  if (takesEverything(minor) || isDocument(part)) return false;
  return !Object.entries(live.parts).some(
    ([taken, since]) => minor >= since && isWithin(part, taken),
  );
}

/**
 * Whether Talos takes a change of a part as it runs, and yet not all of it has an effect before the next boot. So the
 * upgrade program reboots for it.
 *
 * A changed parameter of a loaded module is taken on without an effect (talos, kernel_module_spec.go), whence a
 * machine with NVIDIA's modules boots for its modules. With a release that may refuse the rest, it boots for any
 * change.
 *
 * @param gpu whether it is a machine with NVIDIA's modules.
 */
export function waitsForBoot(part: string, talosVersion: string, gpu: boolean): boolean {
  if (isOfInstallation(part)) return false;
  if (!takesEverything(minorOf(talosVersion))) return gpu;
  if (part === containerdFile) return false;
  return (gpu && isOfModule(part)) || live.atBootOnly.some((late) => isWithin(part, late));
}

const minorOf = (talosVersion: string): number =>
  parseTalosVersion(talosVersion)?.minor ?? live.everythingFrom;

const takesEverything = (minor: number): boolean => minor >= live.everythingFrom;

/** A document of its own begins with its kind. */
const isDocument = (part: string): boolean => /^[A-Z]/.test(part);

const isWithin = (part: string, whole: string): boolean =>
  part === whole || part.startsWith(`${whole}.`);
