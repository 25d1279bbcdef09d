import * as z from "zod";
import type { UpgradeLimits } from "../recipe/effect/upgrade-phases";
import { parseDuration } from "../recipe/rules/duration";
import { duration } from "../recipe/stack/notation";

// The program's input (standard input) and its answer (last line of standard output), by verb. Nothing here is secret:
// credentials come by environment. The input of `preflight` is next to it.

/** Parts of the running image that the user allows the machine to lose. */
const drop = z.strictObject({
  extensions: z.array(z.string()).optional(),
  kernelArgs: z.array(z.string()).optional(),
  overlay: z.boolean().optional(),
  platform: z.boolean().optional(),
  embeddedMachineConfiguration: z.boolean().optional(),
});

/** A taint as in the stack file. */
const nodeTaint = z.object({
  key: z.string().min(1),
  value: z.string().optional(),
  effect: z.string().min(1),
});

/** Annotation that names an object's owner, and the beginning of the annotation's value on objects of this stack. */
export const ownersMark = z.strictObject({ annotation: z.string(), valuePrefix: z.string() });

/** Seconds between two checks of a task that waits. Default 1. */
export const pollSeconds = z.number().positive().default(1);

/**
 * Part of the message about a node that stays cordoned after a failed upgrade. The summary of the update searches for
 * this text. A later update that has nothing to do for the machine does not uncordon the node (`warnOfFailedUpdates`),
 * for example after the user reverted the change.
 */
export const STAYS_CORDONED = "stays cordoned until its upgrade ends well";

/** Wanted state of a machine and its node, in the tasks of `upgrade` and `omni-wait`. */
const goal = {
  /** Node name of the machine. */
  machine: z.string().min(1),
  /**
   * Address of the machine's Talos API. For an Omni machine, this may also be the name that Omni's talosconfig uses.
   */
  address: z.string().min(1),
  /** Wanted Talos release, e.g. `v1.12.6`. */
  talosVersion: z.string().regex(/^v\d+\.\d+\.\d+/),
  /**
   * Hash of the wanted configuration. Pulumi runs the program again if the hash changes. The program compares the hash
   * with that of the last run only to learn whether the configuration has changed.
   */
  configurationHash: z.string(),
  modules: z.array(z.string()),
  /**
   * NVIDIA driver that must be loaded, e.g. `570.211.01`, or only its branch, e.g. `570`. Absent on a machine without
   * a GPU.
   */
  driverVersion: z.string().optional(),
  /** Extension services, and the state that each service must reach. */
  extensionServices: z.array(z.strictObject({ name: z.string(), state: z.string() })),
  /** Taints that the machine's node should have. Default none. */
  taints: z.array(nodeTaint.strict()).optional(),
  pollSeconds,
};

/** Task of `upgrade`. */
export const upgradeTask = z.strictObject({
  ...goal,
  /**
   * Whether this stack owns the machine's configuration or adopted it. An owned configuration sets the node's name.
   * Default adopted.
   */
  configuration: z.enum(["owned", "adopted"]).optional(),
  role: z.enum(["controlplane", "worker"]),
  schematicId: z.string().regex(/^[0-9a-f]{64}$/),
  installerImage: z.string().min(1),
  /**
   * Whether the installer image is the user's own. Then no schematic shows whether the machine runs the image. Default
   * false.
   */
  ownImage: z.boolean().optional(),
  /**
   * Content of the installer image. The machine would lose all parts of its running image that are not in the installer
   * image.
   */
  image: z.strictObject({
    extensions: z.array(z.string()),
    kernelArgs: z.array(z.string()),
    overlay: z
      .strictObject({
        image: z.string(),
        name: z.string(),
        options: z.record(z.string(), z.any()).optional(),
      })
      .optional(),
  }),
  /** Parts of the running image that the machine may lose. Default: none. */
  drop: drop.optional(),
  /**
   * Fields of the driver that the stack does not set, so that an adopted machine keeps its own values. Default none.
   */
  driverFieldsFromCard: z.array(z.enum(["branch", "flavour"])).optional(),
  /** Whether to evict pods before the reboot. */
  drain: z.boolean(),
  /**
   * Whether this stack installs Talos on the machine. The machine may then still be installing Talos, and has not
   * joined the cluster yet. Default false.
   */
  installs: z.boolean().optional(),
  /**
   * Whether this run also gives kube-proxy, CoreDNS and flannel the images of the machine's manifests. This is so only
   * for the last control plane of a cluster that the stack bootstrapped. Default false.
   */
  addons: z.boolean().optional(),
  /**
   * Whether a node that this program has cordoned stays cordoned. The gate uncordons it once the machine's smoke test
   * has passed. With `reboots`, only a node stays cordoned that was cordoned before. Default false.
   */
  awaitsTest: z.boolean().optional(),
  /**
   * Whether to reboot the machine if it agrees with the stack. If the machine differs from the stack, the task fails.
   * Default false.
   */
  reboots: z.boolean().optional(),
  /** Talos API addresses of the cluster's other control planes. */
  otherControlPlanes: z.array(z.string()),
  timeouts: z.strictObject({ pull: duration, drain: duration, reboot: duration, verify: duration }),
});
/** The task as the program reads it. */
export type UpgradeTask = z.infer<typeof upgradeTask>;

/** The limits of a task in milliseconds. */
export const limitsOf = ({
  pull,
  drain,
  reboot,
  verify,
}: UpgradeTask["timeouts"]): UpgradeLimits => ({
  pull: parseDuration(pull, "timeouts.pull"),
  drain: parseDuration(drain, "timeouts.drain"),
  reboot: parseDuration(reboot, "timeouts.reboot"),
  verify: parseDuration(verify, "timeouts.verify"),
});

/** Answer of `upgrade`: the state of the machine at the end. */
export const upgradeResult = z.object({
  machine: z.string(),
  talosVersion: z.string(),
  schematicId: z.string(),
  /** Hash of the configuration, as in the task; absent in answers of older package versions. */
  configurationHash: z.string().optional(),
  driverVersion: z.string().nullable(),
  bootId: z.string(),
  /** Whether this run rebooted the machine. */
  rebooted: z.boolean(),
  /** The stack's taints on the machine's node, which `untaint` removes. */
  taints: z.array(nodeTaint).optional(),
  /** When a run last left the node cordoned for the machine's smoke test; absent if none has. */
  cordonedAt: z.string().optional(),
  phases: z.array(z.object({ name: z.string(), seconds: z.number() })),
});
/** The answer as the program reads it back. */
export type UpgradeResult = z.infer<typeof upgradeResult>;

/** Task of `adopt` and `release`. */
export const adoptTask = z.strictObject({
  machine: z.string().min(1),
  address: z.string().min(1),
  /** Strategic-merge patches (YAML text), in order. */
  patches: z.array(z.string()),
});
/** The task as the program reads it. */
export type AdoptTask = z.infer<typeof adoptTask>;

/** Answer of `adopt`, which Pulumi keeps and passes to the next `adopt` and to `release`. */
export const adoptResult = z.object({
  /** Hash of the machine's whole configuration after the merge. */
  hash: z.string(),
  /** Record of what the merge added (`Added`); `release` removes these additions. */
  added: z.any(),
  changed: z.boolean(),
});
/** The answer as the program reads it back. */
export type AdoptResult = z.infer<typeof adoptResult>;

/** A resource in Omni that this package writes. */
const omniResource = z.strictObject({
  metadata: z.strictObject({
    namespace: z.string(),
    type: z.string(),
    id: z.string(),
    labels: z.record(z.string(), z.string()),
  }),
  spec: z.union([
    z.strictObject({ data: z.string() }),
    z.strictObject({ extensions: z.array(z.string()) }),
  ]),
});

/** Task of `omni-apply` and `omni-release`. */
export const omniTask = z.strictObject({
  machine: z.string().min(1),
  /** Its ID in Omni. */
  uuid: z.string().min(1),
  /** Name of the machine's cluster in Omni. */
  cluster: z.string().min(1),
  /** All resources of this stack that Omni should have for this machine. */
  resources: z.array(omniResource),
  /** Extensions that the machine's image may lose. Default none. */
  drop: z.array(z.string()).optional(),
});
/** The task of `omni-apply` and `omni-release` as the program reads it. */
export type OmniTask = z.infer<typeof omniTask>;

/** Task of `omni-wait`. */
export const omniWaitTask = z.strictObject({
  ...goal,
  uuid: z.string().min(1),
  cluster: z.string().min(1),
  /**
   * Extensions that the machine's image must have. Omni creates the schematic, so the schematic's ID is not known in
   * advance.
   */
  extensions: z.array(z.string()),
  /** Expected contents, by path, of files that show that the configuration is in effect. */
  files: z.record(z.string(), z.string()),
  /** TOML that containerd's configuration must have. Default none. */
  containerdPart: z.string().optional(),
  timeouts: z.strictObject({ reboot: duration, verify: duration }),
});
/** The task of `omni-wait` as the program reads it. */
export type OmniWaitTask = z.infer<typeof omniWaitTask>;

/** Annotation of a smoke test's Job that the gate gave up. Its value is the reason, which `doctor` reads. */
export const UNTESTED = "talos-gpu/untested";

/** Task of `gate`. */
export const gateTask = z.strictObject({
  /** Namespace of the smoke tests and of the GPU provider. */
  namespace: z.string().min(1),
  /** The smoke tests of all GPU machines, except those that are away. */
  tests: z.array(
    z.strictObject({
      machine: z.string().min(1),
      job: z.string().min(1),
      /**
       * UID of the Job. The program ignores the UID; Pulumi runs the program again if a new Job has replaced this one.
       */
      uid: z.string().optional(),
      /**
       * The upgrade's `cordonedAt`. The program ignores it; Pulumi runs the program again after each upgrade that has
       * left the node cordoned, so that the program uncordons the node.
       */
      cordonedAt: z.string().optional(),
      /** Name of the GPU resource, e.g. `nvidia.com/gpu`; the Job requests one unit of it. */
      resource: z.string().min(1),
      /** Number of units that the node should offer. Default: any number. */
      units: z.number().int().positive().optional(),
    }),
  ),
  /** How long the tests may take. */
  limit: duration,
  /**
   * How long a test waits for a unit of the GPU resource while other pods use all units. The gate waits equally long
   * until the node offers the planned number of units.
   */
  patience: duration,
  /**
   * Whether each test must pass. This is so if other machines are upgraded only after these tests. A test then waits
   * for a free unit until `limit` instead of `patience`, and fails if it gets none. Default false.
   */
  mustPass: z.boolean().optional(),
  pollSeconds,
});
/** The task as the program reads it. */
export type GateTask = z.infer<typeof gateTask>;

/** Answer of `gate`. */
export const gateResult = z.object({
  /** Machines on which the test has run a CUDA program on a card. */
  passed: z.array(z.string()),
  /**
   * Why a machine could not be tested, by machine name: other pods use all units of the machine. The text names these
   * pods.
   */
  untested: z.record(z.string(), z.string()),
});
/** The answer as the program reads it back. */
export type GateResult = z.infer<typeof gateResult>;

/** A taint of a node, with all further fields that Kubernetes stores (`timeAdded`). */
export const nodeTaintState = nodeTaint.loose();
/** A taint of a node, with Kubernetes' further fields. */
export type NodeTaintState = z.infer<typeof nodeTaintState>;

/** Task of `untaint`: the fields of the machine's `upgrade` task that `untaint` needs. */
export const untaintTask = z.object({ machine: z.string().min(1) });

/** Task of `await-free`. */
export const freeTask = z.strictObject({
  /** RuntimeClass that the stack is about to create. */
  runtimeClass: z.string().min(1),
  mark: ownersMark,
  limit: duration,
  pollSeconds,
  /** Field of the stack that names the GPU provider. */
  field: z.string().min(1),
  /** Whether another tool owns the RuntimeClass. */
  isExternal: z.boolean().optional(),
});
/** The task of `await-free` as the program reads it. */
export type FreeTask = z.infer<typeof freeTask>;

/** Task of `pull-images`. */
export const pullImagesTask = z.strictObject({
  /** Kubernetes release of the stack, e.g. `v1.36.0`; the `v` is optional. */
  version: z.string().min(1),
  machines: z.array(
    z.strictObject({
      machine: z.string().min(1),
      address: z.string().min(1),
      role: z.enum(["controlplane", "worker"]),
      /** Limit for all images of the machine. */
      limit: duration,
    }),
  ),
  pollSeconds,
});
/** The task of `pull-images` as the program reads it. */
export type PullImagesTask = z.infer<typeof pullImagesTask>;

/**
 * Answer of `pull-images`: Kubernetes release and machines of this update. The next update finds Talos on the disks of
 * these machines, and compares the release.
 */
export const pulledImages = z.object({ version: z.string(), machines: z.array(z.string()) });
/** The answer of `pull-images`. */
export type PulledImages = z.infer<typeof pulledImages>;

/** Task of `put-back`. */
export const putBackTask = z.strictObject({
  /** Field manager with which the stack applies the objects. */
  manager: z.string().min(1),
  /** Objects in their wanted state. An object comes after the objects that it needs. */
  objects: z.array(
    z.looseObject({
      apiVersion: z.string().min(1),
      kind: z.string().min(1),
      metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional() }),
    }),
  ),
});
/** The task of `put-back` as the program reads it. */
export type PutBackTask = z.infer<typeof putBackTask>;
