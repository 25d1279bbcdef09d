import * as z from "zod";
import { noArguments, refuse } from "../checked-arguments";
import { credentialNames, type Credentials, textFindings } from "../credentials/credentials";
import { judge } from "../recipe";
import { inputFindings } from "../recipe/checks/check-arguments";
import { type PlannedMachine, plannedMachines } from "../recipe/machine/planned-machine";
import { wayFields } from "../recipe/facts/way";
import { isMapping } from "../recipe/mapping";
import type { Rule } from "../recipe/rules";
import type {
  ClusterSpec,
  DevicePluginSpec,
  DraSpec,
  DriverSpec,
  ExternalSpec,
  GpuOperatorSpec,
  MachineSpec,
  ReleaseFactsSpec,
  SharingSpec,
  TimeoutsSpec,
  UpgradeSpec,
} from "../recipe/spec/index";
import { text } from "../recipe/stack/notation";
import { readAs } from "../recipe/stack/parse";
import type { Finding } from "../recipe/types";

/** Arguments of a GPU machine: what it shall be, and the credentials to make it so. */
export interface GpuMachineArgs extends MachineSpec, Credentials {
  /** Name of the machine's node in Kubernetes. Default: the name of the component. */
  nodeName?: string;
  /** Talos release that it shall run, e.g. `v1.12.6`. */
  talosVersion: string;
  /** What a release brings that is newer than the tables. Default: what the tables say, else an assumption. */
  releaseFacts?: ReleaseFactsSpec;
  /** Kubernetes release, e.g. `v1.35.0`. Required with an owned configuration. */
  kubernetesVersion?: string;
  /** Name of the Talos cluster. Required with an owned configuration, and with Omni's: its name there. */
  clusterName?: string;
  /** URL of the Kubernetes API. Required with an owned configuration. */
  clusterEndpoint?: string;
  /** NVIDIA driver. Default: see its fields. */
  driver?: DriverSpec;
  /** GPU Operator of the cluster, if it has one: the node's labels depend on it. */
  gpuOperator?: GpuOperatorSpec;
  /** Standalone device plugin of the cluster, if it has one: the node's labels depend on it. */
  devicePlugin?: DevicePluginSpec;
  /** NVIDIA's driver for dynamic resource allocation, if the cluster has it: the node's labels depend on it. */
  dra?: DraSpec;
  /** What something else offers the GPUs with, if it does: the node's labels depend on its kind. */
  external?: ExternalSpec;
  /** Sharing or partitioning of the cards: the node's labels depend on it. */
  sharing?: SharingSpec;
  /** How it is brought to the wanted image. */
  upgrade?: UpgradeSpec;
  /** Limits of the waits. */
  timeouts?: TimeoutsSpec;
  /** Another text than before, or none any more, makes the next update look at the machine again. Default none. */
  reconcileToken?: string;
  /** Image Factory. Default `https://factory.talos.dev`. */
  factoryUrl?: string;
}

/**
 * A machine that stands alone: it is planned and checked as a cluster of one.
 *
 * @throws RunError with everything that is wrong, as `checkWorkloadArguments` does.
 */
export function planAlone(name: string, node: string, args: GpuMachineArgs): PlannedMachine {
  if (!isMapping(args)) refuse("GpuMachine", name, [noArguments]);
  const cluster = clusterOfOne(node, args);
  const { findings, plan } = judge(cluster);
  refuse("GpuMachine", name, machineFindings(node, args, cluster, findings));
  return plannedMachines(plan!)[0]!;
}

const anything: Rule = () => undefined;

function machineFindings(node: string, args: GpuMachineArgs, cluster: ClusterSpec, ofAStack: Finding[]): Finding[] {
  const owned = args.configuration === "owned";
  const [{ nodeName }] = split(args, ["nodeName"]);
  // What offers the GPUs to Kubernetes is no concern of a machine; a stack of the whole cluster must say it. Nor is whether there is a GPU.
  const unsaid = [...wayFields, "external" as const].every((one) => cluster[one] === undefined);
  return [
    ...textFindings(args, { owned, omni: args.configuration === "omni" }),
    ...(owned ? (["talosconfig", "machineSecrets"] as const) : []).flatMap((field) =>
      args[field] ? [] : inputFindings(field, args[field], anything, true),
    ),
    ...readAs(z.strictObject({ nodeName: text.optional() }), nodeName === undefined ? {} : { nodeName }).findings,
    ...ofAStack
      .filter(({ check, field }) => check !== "gpu-machine" && (!unsaid || field !== "gpuOperator"))
      .map((finding) => asArgument(finding, node)),
  ];
}

/** A field of the stack of one machine as the argument that says it. */
function asArgument(finding: Finding, node: string): Finding {
  const { field } = finding;
  const own = `machines.${node}`;
  return {
    ...finding,
    field: field === own ? "nodeName" : field.startsWith(`${own}.`) ? field.slice(own.length + 1) : field,
  };
}

/** Arguments that no stack says. */
const ofTheResource = ["nodeName", ...credentialNames] as const;

/** Arguments that a stack says of the cluster; the others it says of the machine. One that has no place does not compile. */
const ofTheCluster = Object.keys({
  talosVersion: true,
  releaseFacts: true,
  kubernetesVersion: true,
  clusterName: true,
  clusterEndpoint: true,
  driver: true,
  gpuOperator: true,
  devicePlugin: true,
  dra: true,
  external: true,
  sharing: true,
  upgrade: true,
  timeouts: true,
  reconcileToken: true,
  factoryUrl: true,
} satisfies Record<Exclude<keyof GpuMachineArgs, keyof MachineSpec | (typeof ofTheResource)[number]>, true> &
  Partial<Record<keyof ClusterSpec, true>>);

/** The arguments as a cluster. */
function clusterOfOne(node: string, args: object): ClusterSpec {
  const [, said] = split(args, ofTheResource);
  const [cluster, machine] = split(said, ofTheCluster);
  return { ...cluster, machines: { [node]: machine } } as unknown as ClusterSpec;
}

/** The properties of these keys, and the others; without those that are undefined. */
function split(given: object, keys: readonly string[]): [Record<string, unknown>, Record<string, unknown>] {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const isOne = ([key]: [string, unknown]): boolean => keys.includes(key);
  return [Object.fromEntries(entries.filter(isOne)), Object.fromEntries(entries.filter((entry) => !isOne(entry)))];
}
