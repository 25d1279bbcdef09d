import { isFromCheckedStack, noArguments, refuse } from "../checked-arguments";
import { judge, type Judged } from "../recipe";
import { credentialRules } from "../credentials/credentials";
import { inputFindings } from "../recipe/checks/check-arguments";
import { ruleOf, type Rule } from "../recipe/rules";
import { machineArgumentSchema } from "../recipe/stack/machine-arguments";
import { readAs } from "../recipe/stack/parse";
import type { ClusterSpec, MachineSpec } from "../recipe/spec/index";
import type { Finding } from "../recipe/types";
import type { GpuMachineArgs, GpuMachineRecipe } from "./args";
import { isMapping } from "../recipe/mapping";

/**
 * What follows from the arguments of a machine that stands alone: it is planned and checked as a cluster of one.
 *
 * @throws RunError with everything that is wrong, as `checkWorkloadArguments` does.
 */
export function recipeOf(name: string, node: string, args: GpuMachineArgs): GpuMachineRecipe {
  if (!isMapping(args)) refuse("GpuMachine", name, [noArguments]);
  if (args.recipe !== undefined && isFromCheckedStack(args)) return args.recipe;
  const cluster = clusterOfOne(node, args);
  const judged = args.recipe === undefined ? judge(cluster) : { findings: [] };
  refuse("GpuMachine", name, machineFindings(node, { ...args }, cluster, judged));
  return args.recipe ?? judged.plan!.machines[0]!;
}

/** @param judged the machine as a cluster of one; nothing is known of it where its recipe is given. */
function machineFindings(
  node: string,
  args: Record<string, unknown>,
  cluster: ClusterSpec,
  { findings: ofAStack }: Judged,
): Finding[] {
  const [own] = split(args, ofTheResource);
  // Arguments that may be yet to come.
  const inputRules = { schematicId, ...credentialRules(args["configuration"] === "owned") };
  const [inputs, plain] = split(own, Object.keys(inputRules));
  // What offers the GPUs to Kubernetes is no concern of a machine; a stack of the whole cluster must say it. Nor is whether there is a GPU.
  const unsaid =
    cluster.gpuOperator === undefined && cluster.devicePlugin === undefined && cluster.external === undefined;
  return [
    ...Object.entries(inputRules).flatMap(([field, rule]) =>
      inputFindings(field, inputs[field], rule, neededBy(cluster, node).includes(field)),
    ),
    ...readAs(machineArgumentSchema, plain).findings,
    ...(args["recipe"] === undefined ? [] : neededBesides(args)),
    ...bootFindings(args),
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

const anything: Rule = () => undefined;

const schematicId: Rule = ruleOf(
  (id) => /^[0-9a-f]{64}$/.test(id),
  "is not a schematic",
  "the Image Factory knows it by its SHA-256",
  "write 64 hexadecimal digits, or leave it out",
);

/** Inputs that a whole configuration cannot be made without. */
function neededBy(cluster: ClusterSpec, node: string): string[] {
  const machine = cluster.machines[node] as { configuration?: unknown } | undefined;
  return machine?.configuration === "owned" ? ["talosconfig", "machineSecrets"] : [];
}

/** What an owned configuration needs besides; where no recipe is given, the checks of a stack say so. */
function neededBesides(args: Record<string, unknown>): Finding[] {
  if (args["configuration"] !== "owned") return [];
  return ["clusterName", "clusterEndpoint", "kubernetesVersion"].flatMap((field) =>
    inputFindings(field, args[field], anything, true),
  );
}

function bootFindings({ maintenance, bootstrap, configuration, role }: Record<string, unknown>): Finding[] {
  const finding = (field: string, problem: string, why: string, remedy: string): Finding[] => [
    { check: "bootstrap", field, problem, why, remedy },
  ];
  return [
    ...(maintenance === true && configuration !== "owned"
      ? finding(
          "maintenance",
          "is true, but the configuration is not owned",
          "a machine in maintenance mode has no configuration that could be added to",
          "make it `configuration: owned`, or leave maintenance out",
        )
      : []),
    ...(bootstrap === true && role !== "controlplane"
      ? finding(
          "bootstrap",
          "is true, on a machine that is no control plane",
          "etcd and the Kubernetes API run on control planes",
          "make it `role: controlplane`, or leave bootstrap out",
        )
      : []),
  ];
}

/** Arguments that are credentials, or that only a resource needs. */
const ofTheResource = [
  "nodeName",
  "otherControlPlanes",
  "schematicId",
  "recipe",
  "maintenance",
  "bootstrap",
  "talosconfig",
  "machineSecrets",
  "kubeconfig",
  "omniEndpoint",
  "omniServiceAccountKey",
] as const satisfies readonly (keyof GpuMachineArgs)[];

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
  lookAgain: true,
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
