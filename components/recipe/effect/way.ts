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

/**
 * What a running Talos ≤ 1.13 takes of the configuration; anything else under `machine` waits for a boot. Of the other
 * documents it takes every one. Source: talos, release-1.8 to release-1.13, internal/app/machined/pkg/runtime/v1alpha1/
 * v1alpha1_runtime.go, CanApplyImmediate: the same fields in all of them, but for two that came with 1.9.
 */
const takenLive: { part: string; since?: number }[] = [
  ...[
    "cluster",
    "debug",
    "machine.acceptedCAs",
    "machine.ca",
    "machine.certSANs",
    "machine.controlPlane",
    "machine.features.hostDNS",
    "machine.features.kubePrism",
    "machine.features.kubernetesTalosAPIAccess",
    "machine.install",
    "machine.kernel",
    "machine.kubelet",
    "machine.logging",
    "machine.network",
    "machine.nodeAnnotations",
    "machine.nodeLabels",
    "machine.nodeTaints",
    "machine.pods",
    "machine.registries",
    "machine.seccompProfiles",
    "machine.sysctls",
    "machine.sysfs",
    "machine.time",
  ].map((part) => ({ part })),
  { part: "machine.features.imageCache", since: 9 },
  { part: "machine.features.nodeAddressSortAlgorithm", since: 9 },
];

/** First minor that takes every change as it runs: it has no CanApplyImmediate any more (talos, release-1.14, the same file). */
const everythingLiveFrom = 14;

/** Whether a running Talos refuses a change of a part of its configuration, such as `machine.files`, and wants a boot for it. */
export function needsBoot(part: string, talosVersion: string): boolean {
  const minor = parseTalosVersion(talosVersion)?.minor ?? everythingLiveFrom;
  if (minor >= everythingLiveFrom || /^[A-Z]/.test(part)) return false; // a document of its own begins with its kind
  return !takenLive.some(
    ({ part: live, since = 0 }) => minor >= since && (part === live || part.startsWith(`${live}.`)),
  );
}
