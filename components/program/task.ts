import * as z from "zod";
import type { UpgradeLimits } from "../recipe/effect/upgrade-phases";
import { parseDuration } from "../recipe/rules/duration";
import { duration } from "../recipe/stack/notation";

// The program's input (standard input) and its answer (last line of standard output), by verb. Nothing here is secret:
// credentials come by environment. The input of `preflight` is next to it.

/** Parts that may be lost on purpose. */
const drop = z.strictObject({
  extensions: z.array(z.string()).optional(),
  kernelArgs: z.array(z.string()).optional(),
  overlay: z.boolean().optional(),
  platform: z.boolean().optional(),
  embeddedMachineConfiguration: z.boolean().optional(),
});

/** A taint as a stack says it. */
const nodeTaint = z.object({
  key: z.string().min(1),
  value: z.string().optional(),
  effect: z.string().min(1),
});

/** Annotation that says who made an object, and how it begins where that is this stack. */
export const ownersMark = z.strictObject({ annotation: z.string(), ours: z.string() });

/** Seconds between two looks of a task that waits. Default 1. */
export const pollSeconds = z.number().positive().default(1);

/**
 * Words with which a failed upgrade says that its node takes no pods. The summary of the update reads them. Another
 * update does not end it where it has nothing to do for the machine, as with the failed edit taken back
 * (`warnOfCordons`).
 */
export const STAYS_CORDONED = "stays cordoned until its upgrade ends well";

/** Wanted state of a machine and its node, for Talos or for Omni. */
const goal = {
  /** Node name of the machine. */
  machine: z.string().min(1),
  /** Address of its Talos API; of a machine of Omni's also its name, by which Omni's talosconfig reaches it. */
  address: z.string().min(1),
  /** Release it should run, e.g. `v1.12.6`. */
  talosVersion: z.string().regex(/^v\d+\.\d+\.\d+/),
  /** Hash of the configuration that should be active. Only its change matters: it makes the program run again. */
  configurationHash: z.string(),
  modules: z.array(z.string()),
  /**
   * NVIDIA driver that must be loaded, e.g. `570.211.01`, or only its branch, e.g. `570`. Absent on a machine without
   * a GPU.
   */
  driverVersion: z.string().optional(),
  /** Extension services and the state each must reach. */
  extensionServices: z.array(z.strictObject({ name: z.string(), state: z.string() })),
  /** Taints that its node should have. Default none. */
  taints: z.array(nodeTaint.strict()).optional(),
  pollSeconds,
};

/** Task of `upgrade`. */
export const upgradeTask = z.strictObject({
  ...goal,
  /** Who holds its configuration: an owned one gives the node its name. Default adopted. */
  configuration: z.enum(["owned", "adopted"]).optional(),
  role: z.enum(["controlplane", "worker"]),
  schematicId: z.string().regex(/^[0-9a-f]{64}$/),
  installerImage: z.string().min(1),
  /** That image is the user's own: no schematic tells whether a machine runs it. Default false. */
  ownImage: z.boolean().optional(),
  /** Content of that image: an adopted machine would lose everything else that it runs. */
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
  /** Parts of the machine's image that may be lost. Default: none. */
  drop: drop.optional(),
  /**
   * Fields of the driver that the stack leaves to the card: a machine that is taken over keeps its own. Default none.
   */
  unnamedDriver: z.array(z.enum(["branch", "flavour"])).optional(),
  /** Evict pods before the reboot. */
  drain: z.boolean(),
  /**
   * The machine started in maintenance mode: it may still be installing Talos when this begins, and has to join the
   * cluster. Default false.
   */
  installs: z.boolean().optional(),
  /** Reboot the machine if it runs what it should; otherwise do nothing. Default false. */
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

/** Answer of `upgrade`: what was seen on the machine at the end. */
export const upgradeResult = z.object({
  machine: z.string(),
  talosVersion: z.string(),
  schematicId: z.string(),
  driverVersion: z.string().nullable(),
  bootId: z.string(),
  /** Whether this run rebooted it. */
  rebooted: z.boolean(),
  /** Taints of its node that are the stack's own, and so what `untaint` takes away. */
  taints: z.array(nodeTaint).optional(),
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

/** Answer of `adopt`: kept by Pulumi and handed back to the next `adopt` and to `release`. */
export const adoptResult = z.object({
  /** Hash of the machine's whole configuration after the merge. */
  hash: z.string(),
  /** Additions of the merge, in the merge's form; `release` removes them. */
  added: z.any(),
  changed: z.boolean(),
});
/** The answer as the program reads it back. */
export type AdoptResult = z.infer<typeof adoptResult>;

/** A resource of Omni that is ours. */
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
  /** Name of its cluster in Omni. */
  cluster: z.string().min(1),
  /** All resources of ours that Omni should have for this machine. */
  resources: z.array(omniResource),
  /** Extensions of its image that may be lost. Default none. */
  drop: z.array(z.string()).optional(),
});
/** The task of `omni-apply` and `omni-release` as the program reads it. */
export type OmniTask = z.infer<typeof omniTask>;

/** Task of `omni-wait`. */
export const omniWaitTask = z.strictObject({
  ...goal,
  uuid: z.string().min(1),
  cluster: z.string().min(1),
  /** Extensions that its image must have. Omni makes the schematic, so its ID is not known before. */
  extensions: z.array(z.string()),
  /** Contents of files that show that the configuration is in effect, by path. */
  files: z.record(z.string(), z.string()),
  /** TOML that containerd's configuration must have. Default none. */
  containerdPart: z.string().optional(),
  timeouts: z.strictObject({ reboot: duration, verify: duration }),
});
/** The task of `omni-wait` as the program reads it. */
export type OmniWaitTask = z.infer<typeof omniWaitTask>;

/** Annotation of a smoke test that was given up: why it could not run. The doctor reads it. */
export const UNTESTED = "talos-gpu/untested";

/** Task of `gate`. */
export const gateTask = z.strictObject({
  /** Namespace of the smoke tests and of what exposes the GPUs. */
  namespace: z.string().min(1),
  tests: z.array(
    z.strictObject({
      machine: z.string().min(1),
      job: z.string().min(1),
      /** Identity of the Job. Only its change matters: a replaced Job makes the program run again. */
      uid: z.string().optional(),
      /** GPU resource that it requests one unit of. */
      resource: z.string().min(1),
      /** Units of it that the node should offer. Default: whatever it offers. */
      units: z.number().int().positive().optional(),
    }),
  ),
  /** How long the tests may take. */
  limit: duration,
  /** How long a test waits for a unit while other pods run on all of them, and for the node to offer what it should. */
  patience: duration,
  /**
   * Whether a test waits for a unit until the limit, and has failed then: further machines wait for it. Default
   * false.
   */
  mustPass: z.boolean().optional(),
  pollSeconds,
});
/** The task as the program reads it. */
export type GateTask = z.infer<typeof gateTask>;

/** Answer of `gate`. */
export const gateResult = z.object({
  /** Machines on whose cards a test has computed. */
  passed: z.array(z.string()),
  /** Machines that could not be tested, since other pods use all their units, and the pods; by name. */
  untested: z.record(z.string(), z.string()),
});
/** The answer as the program reads it back. */
export type GateResult = z.infer<typeof gateResult>;

/** A taint of a node; what else Kubernetes keeps of it (`timeAdded`) stays as it is. */
export const nodeTaintState = nodeTaint.loose();
/** A taint as the tasks hand it on. */
export type NodeTaintState = z.infer<typeof nodeTaintState>;

/** Task of `untaint`: what it needs of the task with which its machine was brought to its image. */
export const untaintTask = z.object({ machine: z.string().min(1) });

/** Task of `await-free`. */
export const freeTask = z.strictObject({
  /** RuntimeClass that the stack is about to make. */
  runtimeClass: z.string().min(1),
  mark: ownersMark,
  limit: duration,
  pollSeconds,
  /** Field of the stack that names the GPU provider. */
  field: z.string().min(1),
  /** Whether it is external. */
  theirs: z.boolean().optional(),
});
/** The task of `await-free` as the program reads it. */
export type FreeTask = z.infer<typeof freeTask>;

/** Task of `put-back`. */
export const putBackTask = z.strictObject({
  /** Field manager that the objects' maker applies them by. */
  manager: z.string().min(1),
  /** Objects in their wanted state, in the order in which they need each other. */
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
