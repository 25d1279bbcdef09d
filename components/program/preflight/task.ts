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
    driverFieldsFromCard: true,
  })
  .extend({
    /** Whether this stack owns the machine's configuration or adopted it. */
    configuration: z.enum(["owned", "adopted"]),
    /**
     * Talos release whose features the generated configuration uses; absent if the stack does not generate the
     * machine's configuration.
     */
    contract: z.string().optional(),
    /** Whether the stack chooses the machine's NVIDIA extensions. */
    gpu: z.boolean(),
    /** False if the machine's next image lacks NVIDIA's runtime for containerd. */
    handler: z.literal(false).optional(),
    /**
     * Hash of all settings whose change may reboot the machine. If the hash changes, the preflight checks the machine
     * again.
     */
    settingsHash: z.string(),
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
      /** Name of the provider's Helm release; `namespace` is the release's namespace. */
      release: z.string(),
      namespace: z.string(),
    })
    .optional(),
  /** Whether a cluster exists; false while the stack creates it. */
  kubernetes: z.boolean(),
  /** Kubernetes release of the owned machines. Absent if the stack owns no machine, or bootstraps its cluster. */
  release: z
    .strictObject({
      version: z.string(),
      /** Whether the owned machines include control planes. */
      ofControlPlanes: z.boolean(),
      /**
       * Hash of the settings that change a machine's Kubernetes release. If the hash changes, the preflight checks the
       * cluster again.
       */
      settingsHash: z.string(),
    })
    .optional(),
  namespaces: z.array(z.string()),
  /** Volumes of the stack's workloads. No update may replace such a volume. */
  volumes: z.array(
    z.strictObject({
      field: z.string(),
      /** Pulumi resource that creates the volume's claim, as the claim's owner annotation names it. */
      owner: z.string(),
      name: z.string(),
      namespace: z.string(),
      /** StorageClass of the claim; absent if the cluster chooses the class. */
      storageClass: z.string().optional(),
    }),
  ),
  /** Namespaces and Secrets that the stack uses and does not make, each with the field that names it. Default: none. */
  needs: z
    .array(
      z.strictObject({
        field: z.string(),
        kind: z.enum(["Namespace", "Secret"]),
        name: z.string(),
        namespace: z.string().optional(),
      }),
    )
    .optional(),
  mark: ownersMark,
  /**
   * A RuntimeClass for which no machine will have a handler. The preflight ignores pods in the stack's namespace
   * (`exceptNamespace`), because this update changes them. `removedRuntimeClass` is absent if machines have the handler.
   */
  removedRuntimeClass: z.strictObject({ name: z.string(), exceptNamespace: z.string() }).optional(),
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
  /** The machine's `settingsHash` at its last check; absent for an Omni machine. */
  hash: z.string().optional(),
  /** Index of the machine's schematics in `histories`; absent for an Omni machine. */
  history: z.number().optional(),
  /**
   * Exactly one of `owned`, `adopted` and `omni` is set, and says who owns the configuration. The value of `owned` and
   * `adopted` is the machine's address, the value of `omni` the machine's UUID.
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
     * Lists of the schematics that the stack has installed on a machine, the newest first. Machines with the same list
     * share one entry.
     */
    histories: z.array(z.array(z.string())).default([]),
    /**
     * Hash of a talosconfig and a kubeconfig that are known to belong to one cluster. Absent if it is unknown whether
     * they do.
     */
    sameClusterHash: z.string().optional(),
    /** `settingsHash` of the last check of the Kubernetes release; absent without a check. */
    release: z.string().optional(),
  })
  .transform(({ machines, histories, sameClusterHash, release }) => ({
    machines: Object.fromEntries(
      Object.entries(machines).map(
        ([name, { hash, history = -1, ...places }]): [string, Remembered] => {
          const owner = (["owned", "adopted", "omni"] as const).find(
            (candidate) => places[candidate] !== undefined,
          );
          const place = owner && { owner, addressOrUuid: places[owner]! };
          return [name, { hash, schematics: histories[history] ?? [], place }];
        },
      ),
    ),
    sameClusterHash,
    release,
  }));
/** The answer as the program writes it. */
export type PreflightAnswer = z.input<typeof preflightResult>;
/** The answer as the program reads it back. */
export type PreflightResult = z.infer<typeof preflightResult>;

/** Facts about a machine that the last update recorded. */
export interface Remembered {
  /** The machine's `settingsHash` at its last check; undefined for an Omni machine. */
  hash: string | undefined;
  /** Schematics that the stack has installed on the machine, the newest first. */
  schematics: string[];
  /**
   * Who owns the machine's configuration, with the machine's address or its UUID in Omni; undefined if the recorded
   * answer lacks both.
   */
  place: { owner: "owned" | "adopted" | "omni"; addressOrUuid: string } | undefined;
}
