import * as z from "zod";
import { duration } from "../../recipe/stack/notation";
import { omniTask, ownersMark, pollSeconds, upgradeTask } from "../task";

/** Remedy for a volume whose data is not needed. */
export const ifDataMayGo =
  "If you do not need the data, remove the workload from the stack for one update";

/** The facts about a machine that the preflight needs. */
const askedMachine = upgradeTask
  .pick({
    machine: true,
    address: true,
    talosVersion: true,
    schematicId: true,
    installerImage: true,
    ownImage: true,
    image: true,
    drop: true,
    unnamedDriver: true,
  })
  .extend({
    /** Whether this stack owns its configuration or adopted it. */
    configuration: z.enum(["owned", "adopted"]),
    /** Release whose features its generated configuration uses; absent if the stack does not generate it. */
    contract: z.string().optional(),
    /** Whether the stack chooses the machine's NVIDIA extensions. */
    gpu: z.boolean(),
    /** False if its next image lacks NVIDIA's runtime for containerd. */
    handler: z.literal(false).optional(),
    /** Hash of all settings whose change may reboot it. If the hash changes, the preflight checks the machine again. */
    wanted: z.string(),
  });
/** A machine that the preflight asks about, as the program reads it. */
export type AskedMachine = z.infer<typeof askedMachine>;

/** Task of `preflight`: everything that must exist before the update drains the first machine. */
export const preflightTask = z.strictObject({
  /** Machines that the upgrade program upgrades. Empty while the stack installs its machines. */
  machines: z.array(askedMachine),
  /** The stack's Omni machines, in the form of the tasks of `omni-apply`. */
  omni: z.array(omniTask),
  installers: z.array(z.string()),
  /** The GPU provider's chart; undefined if the stack does not install it. */
  chart: z
    .strictObject({ name: z.string(), version: z.string(), repository: z.string() })
    .optional(),
  /**
   * GPU provider that the stack installs; the cluster must have no other for the same cards. Absent if the stack
   * installs none.
   */
  installs: z
    .strictObject({
      field: z.enum(["gpuOperator", "devicePlugin", "dra"]),
      /** Namespace and name of its Helm release. */
      release: z.string(),
      namespace: z.string(),
    })
    .optional(),
  /** Whether a cluster exists; false while the stack creates it. */
  kubernetes: z.boolean(),
  /** Kubernetes release of the owned machines. Absent if the stack owns none, or bootstraps its cluster. */
  release: z
    .strictObject({
      version: z.string(),
      /** Whether the owned machines include control planes. */
      ofControlPlanes: z.boolean(),
      /**
       * Hash of the settings that change a machine's Kubernetes release. If it changes, the preflight checks the
       * cluster again.
       */
      wanted: z.string(),
    })
    .optional(),
  namespaces: z.array(z.string()),
  /** Volumes of the stack's workloads, which no update may replace. */
  volumes: z.array(
    z.strictObject({
      field: z.string(),
      /** Pulumi resource that creates the volume's claim, as in the owner annotation. */
      owner: z.string(),
      name: z.string(),
      namespace: z.string(),
      /** StorageClass of the claim; absent if the stack leaves it to the cluster. */
      storageClass: z.string().optional(),
    }),
  ),
  mark: ownersMark,
  /**
   * A RuntimeClass for which no machine will have a handler. `but` is the stack's namespace, whose pods this update
   * changes. Absent if machines have the handler.
   */
  classGone: z.strictObject({ name: z.string(), but: z.string() }).optional(),
  /** Whether the update drains machines, which needs the Kubernetes API. */
  drain: z.boolean(),
  /** How long the preflight waits for an answer of Kubernetes. */
  limit: duration,
  pollSeconds,
});
/** The task as the program reads it. */
export type PreflightTask = z.infer<typeof preflightTask>;

/** A machine in the answer. */
const keptMachine = z.object({
  /** Its `wanted` hash at its last check; absent for an Omni machine. */
  wanted: z.string().optional(),
  /** Index of its history in `histories`; absent for an Omni machine. */
  brought: z.number().optional(),
  /**
   * Exactly one of `owned`, `adopted` and `omni` is set: the owner of the configuration. Its value is the machine's
   * address, or for `omni` its UUID.
   */
  owned: z.string().optional(),
  adopted: z.string().optional(),
  omni: z.string().optional(),
});

/** Answer of `preflight`, which Pulumi keeps and passes to the next run. */
export const preflightResult = z
  .object({
    /** Machines of the stack, by name. */
    machines: z.record(z.string(), keptMachine),
    /**
     * Histories of the schematics that the stack has installed on machines, the newest first; equal histories are
     * written once.
     */
    histories: z.array(z.array(z.string())).default([]),
    /** Hash of a talosconfig and a kubeconfig that are known to belong to one cluster. Absent if that is unknown. */
    together: z.string().optional(),
    /** `wanted` hash of the last check of the Kubernetes release; absent without a check. */
    release: z.string().optional(),
  })
  .transform(({ machines, histories, together, release }) => ({
    machines: Object.fromEntries(
      Object.entries(machines).map(
        ([name, { wanted, brought = -1, ...places }]): [string, Remembered] => {
          const owner = (["owned", "adopted", "omni"] as const).find(
            (candidate) => places[candidate] !== undefined,
          );
          const place = owner && { owner, addressOrUuid: places[owner]! };
          return [name, { wanted, brought: histories[brought] ?? [], place }];
        },
      ),
    ),
    together,
    release,
  }));
/** The answer as the program writes it. */
export type PreflightAnswer = z.input<typeof preflightResult>;
/** The answer as the program reads it back. */
export type PreflightResult = z.infer<typeof preflightResult>;

/** Facts about a machine that the last update recorded. */
export interface Remembered {
  /** Its `wanted` hash at its last check; undefined for an Omni machine. */
  wanted: string | undefined;
  /** Schematics that the stack has installed on it, the newest first. */
  brought: string[];
  /** Owner of its configuration, with its address or Omni's UUID; undefined if the answer lacks them. */
  place: { owner: "owned" | "adopted" | "omni"; addressOrUuid: string } | undefined;
}
