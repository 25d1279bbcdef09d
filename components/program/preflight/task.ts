import * as z from "zod";
import { duration } from "../../recipe/stack/notation";
import { omniTask, ownersMark, pollSeconds, upgradeTask } from "../task";

/** How to go on where the data of a volume is not needed. */
export const ifDataMayGo =
  "if you do not need the data, remove the workload from the stack for one update";

/** A machine as far as something is asked about it before it is touched. */
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
    /** Who holds its configuration. */
    configuration: z.enum(["owned", "adopted"]),
    /** Release whose features its generated configuration uses; absent where the stack does not generate it. */
    contract: z.string().optional(),
    /** Whether NVIDIA's extensions on it are the stack's to choose. */
    gpu: z.boolean(),
    /** False where its next image has no runtime of NVIDIA's for containerd. */
    handler: z.literal(false).optional(),
    /** Hash of all that may reboot it. Only its change matters: the machine is asked about again. */
    wanted: z.string(),
  });
/** A machine that the preflight asks about, as the program reads it. */
export type AskedMachine = z.infer<typeof askedMachine>;

/** Task of `preflight`: everything that must exist before the update drains the first machine. */
export const preflightTask = z.strictObject({
  /** Machines that the upgrade program brings to their image. None while a stack installs them. */
  machines: z.array(askedMachine),
  /** Machines of Omni's, as `omni-apply` gets them. */
  omni: z.array(omniTask),
  installers: z.array(z.string()),
  /** The chart that exposes the GPUs; undefined where it is not this stack's to install. */
  chart: z
    .strictObject({ name: z.string(), version: z.string(), repository: z.string() })
    .optional(),
  /**
   * GPU provider that the stack installs. The cluster may have no other for the same cards. Absent if the stack does
   * not install it.
   */
  installs: z
    .strictObject({
      field: z.enum(["gpuOperator", "devicePlugin", "dra"]),
      /** Name of its Helm release, and its namespace. */
      release: z.string(),
      namespace: z.string(),
    })
    .optional(),
  /** Whether there is a cluster to be asked; none while the stack makes it. */
  kubernetes: z.boolean(),
  /** Kubernetes release of the owned machines. Absent where the stack owns none, or makes its cluster. */
  release: z
    .strictObject({
      version: z.string(),
      /** Whether control planes are among them. */
      ofControlPlanes: z.boolean(),
      /** Hash of what brings the release to machines. The cluster is asked again only if it changes. */
      wanted: z.string(),
    })
    .optional(),
  namespaces: z.array(z.string()),
  /** Volumes of its workloads, which no update may replace. */
  volumes: z.array(
    z.strictObject({
      field: z.string(),
      /** Resource that makes it, as the annotation says it. */
      owner: z.string(),
      name: z.string(),
      namespace: z.string(),
      /** Absent: the stack leaves it to the cluster. */
      storageClass: z.string().optional(),
    }),
  ),
  mark: ownersMark,
  /**
   * A RuntimeClass that no machine will have a handler for, and a namespace whose pods lose it by this update; absent
   * where machines have one.
   */
  classGone: z.strictObject({ name: z.string(), but: z.string() }).optional(),
  /** Whether machines are drained, for which the Kubernetes API has to answer. */
  drain: z.boolean(),
  /** How long an answer that may still come is waited for. */
  limit: duration,
  pollSeconds,
});
/** The task as the program reads it. */
export type PreflightTask = z.infer<typeof preflightTask>;

/** A machine in the answer. */
const keptMachine = z.object({
  /** Hash by which it was asked about; absent of a machine of Omni's. */
  wanted: z.string().optional(),
  /** Its history, by the place in `histories`; absent of a machine of Omni's. */
  brought: z.number().optional(),
  /** Address or, of a machine of Omni's, UUID, by who holds the configuration. */
  owned: z.string().optional(),
  adopted: z.string().optional(),
  omni: z.string().optional(),
});

/** Answer of `preflight`: kept by Pulumi and handed back to the next one. */
export const preflightResult = z
  .object({
    /** Machines of the stack, by name. */
    machines: z.record(z.string(), keptMachine),
    /** Schematics that the stack brought machines so far, the newest first; each history once. */
    histories: z.array(z.array(z.string())).default([]),
    /**
     * Hash of the talosconfig and of the kubeconfig's cluster that were seen to be of one cluster. Absent if unknown.
     */
    together: z.string().optional(),
    /** Hash by which the Kubernetes release was asked about; absent where it was not. */
    release: z.string().optional(),
  })
  .transform(({ machines, histories, together, release }) => ({
    machines: Object.fromEntries(
      Object.entries(machines).map(
        ([name, { wanted, brought = -1, ...places }]): [string, Remembered] => {
          const owner = (["owned", "adopted", "omni"] as const).find(
            (one) => places[one] !== undefined,
          );
          const place = owner && { owner, at: places[owner]! };
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
  /** Hash by which it was asked about; undefined of a machine of Omni's. */
  wanted: string | undefined;
  /** Schematics that the stack brought it so far, the newest first. */
  brought: string[];
  /** Who was to hold its configuration, and its address or Omni's UUID of it; undefined where the answer has none. */
  place: { owner: "owned" | "adopted" | "omni"; at: string } | undefined;
}
