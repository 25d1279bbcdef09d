import * as z from "zod";
import { duration, nodeTaint, pollSeconds } from "./parts";

/** A resource of Omni that is ours. */
const omniResource = z.strictObject({
  metadata: z.strictObject({
    namespace: z.string(),
    type: z.string(),
    id: z.string(),
    labels: z.record(z.string(), z.string()),
  }),
  spec: z.union([z.strictObject({ data: z.string() }), z.strictObject({ extensions: z.array(z.string()) })]),
});

/** Task of `omni-apply` and `omni-release`. */
export const omniTask = z.strictObject({
  /** Node name of the machine. */
  machine: z.string().min(1),
  /** Its ID in Omni. */
  uuid: z.string().min(1),
  /** Name of its cluster in Omni. */
  cluster: z.string().min(1),
  /** What Omni shall hold for this machine: all that is ours there. */
  resources: z.array(omniResource),
  /** Extensions of its image that may be lost. Default none. */
  drop: z.array(z.string()).optional(),
});
/** The task of `omni-apply` and `omni-release` as the program reads it. */
export type OmniTask = z.infer<typeof omniTask>;

/** Task of `omni-wait`. */
export const omniWaitTask = z.strictObject({
  /** Taints that its node shall have. Default none. */
  taints: z.array(nodeTaint.strict()).optional(),
  machine: z.string().min(1),
  /** Address or name by which Omni's talosconfig reaches it. */
  address: z.string().min(1),
  uuid: z.string().min(1),
  /** Name of its cluster in Omni. */
  cluster: z.string().min(1),
  talosVersion: z.string().regex(/^v\d+\.\d+\.\d+/),
  /** Hash of what Omni was given. Only its change matters: it makes the program run again. */
  configurationHash: z.string(),
  /** Extensions that its image must have. Omni makes the schematic, so its ID is not known before. */
  extensions: z.array(z.string()),
  modules: z.array(z.string()),
  driverVersion: z.string().optional(),
  extensionServices: z.array(z.strictObject({ name: z.string(), state: z.string() })),
  /** Contents of files that show that the configuration is in effect, by path. */
  files: z.record(z.string(), z.string()),
  timeouts: z.strictObject({ reboot: duration, verify: duration }),
  pollSeconds,
});
/** The task of `omni-wait` as the program reads it. */
export type OmniWaitTask = z.infer<typeof omniWaitTask>;
