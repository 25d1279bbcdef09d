import { live } from "../facts/data/since.json";
import { parseTalosVersion } from "../facts/version";

/**
 * How an update brings a machine to what it shall be: `none` (it is that already), `live` (Talos is asked to take the
 * configuration as it runs, and the machine reboots only where Talos refuses) or `reboot`.
 */
export type Way = "none" | "live" | "reboot";

/** How a machine differs from what it shall be. */
export interface Differences {
  /** It runs another Talos release, or the image of another schematic. */
  image: boolean;
  /** Its next boot would bring another configuration. */
  configuration: boolean;
  /** It has modules of NVIDIA's, and more than the installation's part of its configuration differs: a changed parameter of a loaded module is taken on and has no effect before a boot (talos, kernel_module_spec.go). */
  gpu: boolean;
}

/**
 * The one rule of who reboots. The upgrade program acts by it on what it sees of a machine; a preview says by it what the
 * program will do.
 */
export function wayOf({ image, configuration, gpu }: Differences): Way {
  if (image || (configuration && gpu)) return "reboot";
  return configuration ? "live" : "none";
}

/** Whether a part of the configuration is read when Talos is installed or upgraded alone, so that no boot brings anything of it. */
export const isOfInstallation = (part: string): boolean =>
  part === "machine.install" || part.startsWith("machine.install.");

/** Whether a running Talos refuses a change of a part of its configuration, such as `machine.files`, and wants a boot for it. */
export function needsBoot(part: string, talosVersion: string): boolean {
  const minor = parseTalosVersion(talosVersion)?.minor ?? live.everythingFrom;
  if (minor >= live.everythingFrom || /^[A-Z]/.test(part)) return false; // a document of its own begins with its kind
  return !Object.entries(live.parts).some(
    ([taken, since]) => minor >= since && (part === taken || part.startsWith(`${taken}.`)),
  );
}
