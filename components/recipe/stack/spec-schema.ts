import { z } from "zod";
import {
  ConfigurationOwner,
  DriverBranch,
  GpuArchitecture,
  MachineRole,
  MigStrategy,
  ModelPull,
  ModuleFlavour,
  type ClusterSpec,
  type MachineSpec,
} from "./spec/index";

/** Duration like `90s`, `10m`, `1h30m`. */
const duration = z
  .string()
  .regex(/^(\d+h)?(\d+m)?(\d+s)?$/, "duration")
  .min(2, "duration");
/** Kubernetes quantity of storage, e.g. `100Gi`. */
const quantity = z.string().regex(/^\d+(\.\d+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$/, "quantity");
/** Name of a Kubernetes object. */
const dnsName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "name")
  .max(63, "name");
const count = z.number().int().min(1);
const url = z.string().regex(/^https?:\/\/[^\s/]+/, "url");
const text = z.string().min(1);
const values = z.record(z.string(), z.any());
const texts = z.record(z.string(), z.string());

const containerd = z.strictObject({
  nvidiaDefaultRuntime: z.boolean().optional(),
  baseRuntimeSpec: z.boolean().optional(),
  cdiSpecDirs: z.array(text).optional(),
  extra: z.string().optional(),
});

const machine = z.strictObject({
  address: text,
  role: z.enum(MachineRole),
  configuration: z.enum(ConfigurationOwner),
  uuid: text.optional(),
  gpus: z
    .array(
      z.strictObject({
        model: text,
        architecture: z.enum(GpuArchitecture).optional(),
        memory: quantity.optional(),
        count: count.optional(),
      }),
    )
    .optional(),
  extensions: z.array(text).optional(),
  kernelArgs: z.array(text).optional(),
  platform: text.optional(),
  secureBoot: z.boolean().optional(),
  patches: z.array(z.string()).optional(),
  labels: texts.optional(),
  taints: texts.optional(),
  powerLimit: z.number().positive().optional(),
  runningVersion: text.optional(),
  containerd: containerd.optional(),
});

const release = z.strictObject({ version: text, namespace: dnsName.optional(), values: values.optional() });

const sharing = z.strictObject({
  timeSlicing: z.strictObject({ replicas: z.number().int(), renameByDefault: z.boolean().optional() }).optional(),
  mps: z.strictObject({ replicas: z.number().int() }).optional(),
  mig: z.strictObject({ strategy: z.enum(MigStrategy), profile: text }).optional(),
});

const app = {
  active: z.boolean().optional(),
  image: text.optional(),
  storage: quantity.optional(),
  storageClass: text.optional(),
  gpus: count.optional(),
  migProfile: text.optional(),
  namespace: dnsName.optional(),
};

const workloads = z.strictObject({
  ollama: z
    .strictObject({
      ...app,
      models: z.array(text).optional(),
      pullBy: z.enum(ModelPull).optional(),
      pullImage: text.optional(),
    })
    .optional(),
  comfyui: z.strictObject(app).optional(),
  litellm: z
    .strictObject({
      active: z.boolean().optional(),
      image: text.optional(),
      masterKeySecret: dnsName.optional(),
      namespace: dnsName.optional(),
    })
    .optional(),
  vllm: z
    .strictObject({
      ...app,
      model: text,
      args: z.array(text).optional(),
      huggingFaceToken: z.strictObject({ name: text, key: text }).optional(),
      sharedMemory: quantity.optional(),
    })
    .optional(),
  pods: z
    .record(
      z.string(),
      z.strictObject({
        image: text,
        command: z.array(z.string()).optional(),
        args: z.array(z.string()).optional(),
        env: texts.optional(),
        gpus: count.optional(),
        migProfile: text.optional(),
        namespace: dnsName.optional(),
        nodeSelector: texts.optional(),
        limits: texts.optional(),
        restricted: z.boolean().optional(),
      }),
    )
    .optional(),
});

const timeouts = z.strictObject({
  pull: duration.optional(),
  drain: duration.optional(),
  reboot: duration.optional(),
  verify: duration.optional(),
  release: duration.optional(),
  gate: duration.optional(),
  workload: duration.optional(),
});

/** Shape of a stack. What a value means is for the checks; this is about names, types and notations only. */
export const specSchema = z.strictObject({
  talosVersion: text,
  kubernetesVersion: text.optional(),
  clusterName: text.optional(),
  clusterEndpoint: url.optional(),
  bootstrap: z.boolean().optional(),
  machines: z.record(z.string(), machine),
  patches: z.array(z.string()).optional(),
  driver: z
    .strictObject({ branch: z.enum(DriverBranch).optional(), flavour: z.enum(ModuleFlavour).optional() })
    .optional(),
  gpuOperator: release.optional(),
  devicePlugin: release.optional(),
  sharing: sharing.optional(),
  monitoring: z
    .strictObject({
      serviceMonitor: z.boolean().optional(),
      dashboard: z.boolean().optional(),
      namespace: dnsName.optional(),
      labels: texts.optional(),
    })
    .optional(),
  workloads: workloads.optional(),
  upgrade: z.strictObject({ maxParallel: count.optional(), drain: z.boolean().optional() }).optional(),
  timeouts: timeouts.optional(),
  factoryUrl: url.optional(),
  smokeTestImage: text.optional(),
  images: z
    .strictObject({
      validationMarkers: text.optional(),
      powerLimit: text.optional(),
      dcgmExporter: text.optional(),
    })
    .optional(),
});

type SameKeys<A, B> = [keyof A, keyof B] extends [keyof B, keyof A] ? true : never;
type Parsed = z.infer<typeof specSchema>;
/** Fails to compile when the schema and ClusterSpec do not know the same fields. */
export const schemaKnowsSpec: SameKeys<ClusterSpec, Parsed> = true;
/** The same for a machine. */
export const schemaKnowsMachine: SameKeys<MachineSpec, Parsed["machines"][string]> = true;
