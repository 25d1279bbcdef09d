import * as z from "zod";
import { noArguments, refuse } from "../checked-arguments";
import { credentialNames, textFindings } from "../credentials/credentials";
import { judge } from "../recipe";
import { inputFindings } from "../recipe/checks/check-arguments";
import { type PlannedMachine, plannedMachines } from "../recipe/machine/planned-machine";
import { isMapping } from "../recipe/mapping";
import type { Rule } from "../recipe/rules";
import type { ClusterSpec, MachineSpec } from "../recipe/spec/index";
import { text } from "../recipe/stack/notation";
import { readAs } from "../recipe/stack/parse";
import type { Finding } from "../recipe/types";
import type { GpuMachineArgs } from "./args";

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
  const unsaid =
    cluster.gpuOperator === undefined && cluster.devicePlugin === undefined && cluster.external === undefined;
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
