import * as z from "zod";
import * as rules from "../rules";
import {
  cards,
  countOrShare,
  duration,
  image,
  labels,
  namespace,
  quantity,
  replicas,
  ruled,
  text,
  texts,
  values,
} from "./notation";
import type { AroundMachinesSpec, StackSpec } from "../spec/index";
import * as words from "../spec/index";
import { workloadsSchema } from "./workloads";

/** Version of a driver, e.g. `580.178.04`. */
const driver = ruled(
  rules.ruleOf(/^\d+\.\d+(\.\d+)?$/, {
    problem: "is not the version of a driver",
    why: "the update compares the driver of each machine with this version",
    remedy: "write a version such as `580.178.04`",
  }),
);

const containerd = z.strictObject({
  nvidiaDefaultRuntime: z.boolean().optional(),
  baseRuntimeSpec: z.boolean().optional(),
  cdiSpecDirs: z.array(ruled(rules.absolutePath)).optional(),
  extra: z.string().optional(),
});

const driverSpec = z.strictObject({
  branch: z.enum(words.DriverBranch).optional(),
  flavour: z.enum(words.ModuleFlavour).optional(),
});

/** Source: siderolabs/image-factory v1.3, pkg/schematic/schematic.go. */
const customization = z.strictObject({
  bootloader: z.enum(["none", "dual-boot", "sd-boot", "grub"]).optional(),
  secureboot: z
    .strictObject({
      enrollKeys: text.optional(),
      includeWellKnownCertificates: z.boolean().optional(),
    })
    .optional(),
});

const machineDefaults = z.strictObject({
  talosVersion: text.optional(),
  driver: driverSpec.optional(),
  role: z.enum(words.MachineRole).optional(),
  configuration: z.enum(words.ConfigurationOwner).optional(),
  gpus: z
    .array(
      z.strictObject({
        model: text,
        architecture: z.enum(words.GpuArchitecture).optional(),
        memory: quantity.optional(),
        count: cards.optional(),
      }),
    )
    .optional(),
  extensions: z.array(text).optional(),
  kernelArgs: z.array(text).optional(),
  moduleParameters: z.record(text, z.array(text)).optional(),
  platform: text.optional(),
  secureBoot: z.boolean().optional(),
  overlay: z.strictObject({ image, name: text, options: values.optional() }).optional(),
  customization: customization.optional(),
  installerImage: text.optional(),
  drop: z
    .strictObject({
      extensions: z.array(text).optional(),
      kernelArgs: z.array(text).optional(),
      overlay: z.boolean().optional(),
      platform: z.boolean().optional(),
      embeddedMachineConfiguration: z.boolean().optional(),
    })
    .optional(),
  patches: z.array(z.string()).optional(),
  labels: texts.optional(),
  taints: texts.optional(),
  powerLimit: z.number().positive().optional(),
  mayBeAway: z.boolean().optional(),
  runningVersion: text.optional(),
  versionContract: text.optional(),
  containerd: containerd.optional(),
});

const machine = z.strictObject({ address: text, uuid: text.optional(), ...machineDefaults.shape });

const pool = z.strictObject({
  names: text,
  addresses: z.array(text),
  first: z.number().int().min(0).optional(),
  ...machineDefaults.shape,
});

const release = z.strictObject({
  version: text,
  namespace: namespace.optional(),
  repository: ruled(rules.chartRepository).optional(),
  values: values.optional(),
  takeOver: ruled(rules.objectName).optional(),
  handBack: z.boolean().optional(),
});

const external = z.strictObject({
  kind: z.enum(words.ExternalKind).optional(),
  files: z.array(text).optional(),
  version: text.optional(),
  namespace: namespace.optional(),
  runtimeClassName: z.string().optional(),
  resourceName: text.optional(),
  values: values.optional(),
  read: z
    .strictObject({
      kind: z.enum(words.ExternalKind).optional(),
      by: text.optional(),
      name: text.optional(),
      version: text.optional(),
      namespace: namespace.optional(),
      values: values.optional(),
      places: z.record(z.string(), z.string()).optional(),
      unread: z.array(text).optional(),
      missing: z.array(z.strictObject({ kind: text, name: text })).optional(),
    })
    .optional(),
});

const slices = z.strictObject({
  replicas,
  renameByDefault: z.boolean().optional(),
  failRequestsGreaterThanOne: z.boolean().optional(),
});

const sharing = z.strictObject({
  timeSlicing: slices.optional(),
  mps: slices.pick({ replicas: true }).optional(),
  mig: z.strictObject({ strategy: z.enum(words.MigStrategy), profile: text }).optional(),
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

/** Talos version with its `v`, e.g. `v1.12.6`. */
const releaseName = ruled(
  rules.ruleOf((version) => /^v\d+\.\d+\.\d+(?:[-+].*)?$/.test(version), {
    problem: "is not a Talos version",
    why: "these facts would apply to no Talos release",
    remedy: "write a version such as `v1.13.10`",
  }),
);

const releaseFacts = z.strictObject({
  talosVersion: releaseName,
  lts: driver.optional(),
  production: driver.optional(),
  newFeature: driver.optional(),
  toolkit: text.optional(),
  extensions: z.array(text).optional(),
  missing: z.boolean().optional(),
  silent: text.optional(),
});

/** Schemas of the fields in `AroundMachinesSpec`, for a stack and for a `GpuMachine` outside of a `GpuCluster`. */
const aroundMachines = {
  talosVersion: text,
  kubernetesVersion: text.optional(),
  releaseFacts: releaseFacts.optional(),
  clusterName: text.optional(),
  clusterEndpoint: ruled(rules.clusterUrl).optional(),
  driver: driverSpec.optional(),
  gpuOperator: release.optional(),
  devicePlugin: z
    .strictObject({ ...release.shape, makeRuntimeClass: z.boolean().optional() })
    .optional(),
  dra: release.optional(),
  external: external.optional(),
  sharing: sharing.optional(),
  upgrade: z
    .strictObject({
      first: z.array(text).optional(),
      maxParallel: countOrShare.optional(),
      drain: z.boolean().optional(),
    })
    .optional(),
  timeouts: timeouts.optional(),
  reconcileToken: ruled(rules.oneLine).optional(),
  factoryUrl: ruled(rules.serverUrl).optional(),
} satisfies Record<keyof AroundMachinesSpec, z.ZodType>;
/** Names of the fields in `AroundMachinesSpec`. */
export const fieldsAroundMachines = Object.keys(aroundMachines);
const { talosVersion, ...otherFields } = aroundMachines;

/** Schema of a stack: the names, types and notations of its fields. The checks then cover the meaning of the values. */
export const specSchema = z.strictObject({
  talosVersion, // findings come in this order
  machines: z.record(z.string(), machine).optional(),
  machineDefaults: machineDefaults.optional(),
  pools: z.record(z.string(), pool).optional(),
  ...otherFields,
  otherReleaseFacts: z.array(releaseFacts).optional(),
  bootstrap: z.boolean().optional(),
  patches: z.array(z.string()).optional(),
  leaderWorkerSet: release.pick({ version: true, repository: true, values: true }).optional(),
  monitoring: z
    .strictObject({
      serviceMonitor: z.boolean().optional(),
      alerts: z.boolean().optional(),
      dashboard: z.boolean().optional(),
      namespace: namespace.optional(),
      labels: labels.optional(),
    })
    .optional(),
  workloads: workloadsSchema.optional(),
  away: z.array(text).optional(),
  smokeTestImage: image.optional(),
  images: z
    .strictObject({
      validationMarkers: image.optional(),
      powerLimit: image.optional(),
      dcgmExporter: image.optional(),
    })
    .optional(),
});

/** Union of the field names in which two types differ, at any depth; `never` if both types have the same fields. */
type Differing<A, B> = 0 extends 1 & A
  ? never // `any`: external values
  : A extends readonly (infer X)[]
    ? B extends readonly (infer Y)[]
      ? Differing<X, Y>
      : "list"
    : A extends object
      ? [keyof A, keyof B] extends [keyof B, keyof A]
        ? { [K in keyof A & keyof B]-?: Differing<NonNullable<A[K]>, NonNullable<B[K]>> }[keyof A &
            keyof B]
        : Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>
      : never;

type Difference = Differing<StackSpec, z.infer<typeof specSchema>>;
/** This line does not compile if the schema and StackSpec have different fields at any depth; the error names them. */
export const schemaKnowsSpec: [Difference] extends [never] ? true : Difference = true;
