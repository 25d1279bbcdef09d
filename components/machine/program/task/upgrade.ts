import * as z from "zod";
import { drop, duration, nodeTaint, pollSeconds } from "./parts";

/**
 * Words with which a failed upgrade says that its node takes no pods. The summary of the update reads them. Another update does not
 * end it where it has nothing to do for the machine, as with the failed edit taken back (`warnOfCordons`).
 */
export const STAYS_CORDONED = "stays cordoned until its upgrade ends well";

/** Task of `upgrade`. */
export const upgradeTask = z.strictObject({
  /** Taints that its node shall have. Default none. */
  taints: z.array(nodeTaint.strict()).optional(),
  /** Node name of the machine. */
  machine: z.string().min(1),
  /** Address of its Talos API. */
  address: z.string().min(1),
  /** Who holds its configuration: an owned one gives the node its name. Default adopted. */
  configuration: z.enum(["owned", "adopted"]).optional(),
  role: z.enum(["controlplane", "worker"]),
  /** Release it shall run, e.g. `v1.12.6`. */
  talosVersion: z.string().regex(/^v\d+\.\d+\.\d+/),
  /** Schematic it shall run. */
  schematicId: z.string().regex(/^[0-9a-f]{64}$/),
  installerImage: z.string().min(1),
  /** That image is the user's own: no schematic tells whether a machine runs it. Default false. */
  ownImage: z.boolean().optional(),
  /** What that image has: whatever a machine that is taken over runs beside it would be lost. */
  image: z.strictObject({
    extensions: z.array(z.string()),
    kernelArgs: z.array(z.string()),
    overlay: z
      .strictObject({ image: z.string(), name: z.string(), options: z.record(z.string(), z.any()).optional() })
      .optional(),
  }),
  /** What of the machine's image may be lost. Default nothing. */
  drop: drop.optional(),
  /** Hash of the configuration that shall be active. Only its change matters: it makes the program run again. */
  configurationHash: z.string(),
  /** Kernel modules that must be loaded, by name. */
  modules: z.array(z.string()),
  /** NVIDIA driver that must be loaded, e.g. `570.211.01`, or only its branch, e.g. `570`. Absent on a machine without a GPU. */
  driverVersion: z.string().optional(),
  /** Extension services and the state each must reach. */
  extensionServices: z.array(z.strictObject({ name: z.string(), state: z.string() })),
  /** Evict pods before the reboot. */
  drain: z.boolean(),
  /**
   * The machine started in maintenance mode: it may still be installing Talos when this begins, and has to join the cluster.
   * Default false.
   */
  installs: z.boolean().optional(),
  /** Talos API addresses of the cluster's other control planes. */
  otherControlPlanes: z.array(z.string()),
  timeouts: z.strictObject({ pull: duration, drain: duration, reboot: duration, verify: duration }),
  pollSeconds,
});
/** The task as the program reads it. */
export type UpgradeTask = z.infer<typeof upgradeTask>;

/** Answer of `upgrade`: what was seen on the machine at the end. */
export const upgradeResult = z.object({
  machine: z.string(),
  talosVersion: z.string(),
  schematicId: z.string(),
  driverVersion: z.string().nullable(),
  bootId: z.string(),
  /** Whether this run rebooted it. */
  rebooted: z.boolean(),
  /** Taints that the stack then wanted, without those that the node had from somebody else. */
  taints: z.array(nodeTaint).optional(),
  phases: z.array(z.object({ name: z.string(), seconds: z.number() })),
});
/** The answer as the program reads it back. */
export type UpgradeResult = z.infer<typeof upgradeResult>;
