import * as pulumi from "@pulumi/pulumi";
import * as z from "zod";
import { noArguments, refuse } from "../pulumi/checked-arguments";
import { showRemarks } from "../pulumi/remarks";
import { credentialNames, type Credentials, textFindings } from "../credentials/credentials";
import { judge } from "../recipe";
import type { CheckId } from "../recipe/checks";
import { inputFindings } from "../recipe/checks/check-arguments";
import { isWithin } from "../recipe/machine/apart";
import { type PlannedMachine, plannedMachines } from "../recipe/machine/planned-machine";
import { gpuProviderFields } from "../recipe/facts/gpu-provider";
import { isMapping } from "../recipe/mapping";
import type { Rule } from "../recipe/rules";
import type { AroundMachinesSpec, ClusterSpec, MachineSpec } from "../recipe/spec/index";
import { text } from "../recipe/stack/notation";
import { readAs } from "../recipe/stack/parse";
import { fieldsAroundMachines } from "../recipe/stack/spec-schema";
import type { Finding } from "../recipe/types";
import { accessOf } from "../credentials/access";
import { machineResources, machineType } from "./create-machine";
import { hookPrediction } from "./foretell";

/**
 * Arguments of a GPU machine: its wanted state, and the credentials to reach it. The field of the GPU provider is
 * optional here, because only labels of the node depend on it.
 */
export interface GpuMachineArgs extends MachineSpec, AroundMachinesSpec, Credentials {
  /** Name of the machine's node in Kubernetes. Default: the name of the component. */
  nodeName?: string;
  /** Wanted Talos release of the machine, e.g. `v1.12.6`. */
  talosVersion: string;
}

/**
 * One Talos machine as a GPU node: its schematic, its configuration, its image, and its node's labels and taints. An
 * update usually reboots the machine at most once, and not at all if nothing changes. An upgrade over several minor
 * releases takes one reboot for each.
 *
 * Outside of a GpuCluster, the update checks before the reboot which parts the machine would lose, and pulls the image.
 * If Kubernetes does not answer, the update notices that only at the drain. A GpuCluster checks all of this, and the
 * chart of the GPU provider, before it changes the first machine. Pulumi prints warnings and notes about the machine as
 * messages of this resource.
 */
export class GpuMachine extends pulumi.ComponentResource {
  /**
   * Version of the loaded NVIDIA driver, e.g. `570.211.01`; empty on a machine without a GPU. Resolves once the
   * machine runs the wanted image and has loaded the driver.
   */
  public readonly driverVersion: pulumi.Output<string>;
  /** Talos release that the machine reports, e.g. `v1.12.6`. */
  public readonly talosVersion: pulumi.Output<string>;
  /** ID of the Image Factory schematic that the machine reports: a SHA-256. */
  public readonly schematicId: pulumi.Output<string>;
  /**
   * Name of the machine's node. Resolves once the update of the machine is complete, and its node has its labels and
   * taints.
   */
  public readonly ready: pulumi.Output<string>;

  constructor(name: string, args: GpuMachineArgs, opts?: pulumi.ComponentResourceOptions) {
    const node = nodeNameOf(name, args);
    const { machine, remarks } = planAlone(name, node, args);
    const prediction = hookPrediction(name, machine, () => this, opts);
    super(machineType, name, prediction.state, prediction.component);
    showRemarks(this, remarks);
    const madeMachine = machineResources(
      name,
      machine,
      { access: accessOf(args) },
      this,
      prediction,
    );
    this.ready = madeMachine.ready;
    const { driverVersion, talosVersion, schematicId } = madeMachine.upgraded.report;
    this.driverVersion = driverVersion;
    this.talosVersion = talosVersion;
    this.schematicId = schematicId;
    this.registerOutputs(madeMachine.outputs);
  }
}

/** Name of the machine's node; the checks report a wrong name. */
function nodeNameOf(name: string, args: unknown): string {
  const { nodeName } = (args ?? {}) as { nodeName?: unknown };
  return typeof nodeName === "string" ? nodeName : String(name);
}

/**
 * The plan of a machine outside of a GpuCluster, and the warnings and notes about it. The machine is planned and
 * checked as a cluster of one machine.
 *
 * @throws RunError with all findings, like `checkWorkloadArguments`.
 */
function planAlone(
  name: string,
  node: string,
  args: GpuMachineArgs,
): { machine: PlannedMachine; remarks: Finding[] } {
  if (!isMapping(args)) refuse("GpuMachine", name, [noArguments]);
  const cluster = clusterOfOne(node, args);
  const { findings, remarks, plan } = judge(cluster);
  refuse("GpuMachine", name, machineFindings(node, args, cluster, findings));
  return { machine: plannedMachines(plan!)[0]!, remarks: machineRemarks(node, remarks) };
}

const anyValue: Rule = () => undefined;

/** The check that requires a GPU in the stack. */
const aboutCards: CheckId = "gpu-machine";

function machineFindings(
  node: string,
  args: GpuMachineArgs,
  cluster: ClusterSpec,
  stackFindings: Finding[],
): Finding[] {
  const owned = args.configuration === "owned";
  const [{ nodeName }] = split(args, ["nodeName"]);
  // A machine alone needs no GPU provider, which a stack of the whole cluster must name. The machine need not have a
  // GPU either.
  const hasNoProvider = [...gpuProviderFields, "external" as const].every(
    (providerField) => cluster[providerField] === undefined,
  );
  return [
    ...textFindings(args, { owned, omni: args.configuration === "omni" }),
    ...(owned ? (["talosconfig", "machineSecrets"] as const) : []).flatMap((field) =>
      args[field] ? [] : inputFindings(field, args[field], anyValue, true),
    ),
    ...readAs(
      z.strictObject({ nodeName: text.optional() }),
      nodeName === undefined ? {} : { nodeName },
    ).findings,
    ...stackFindings
      .filter(
        ({ check, field }) => check !== aboutCards && (!hasNoProvider || field !== "gpuOperator"),
      )
      .map((finding) => asArgument(finding, node)),
  ];
}

/**
 * The warnings and notes about a machine. Leaves out warnings and notes about the GPU provider and workloads, because
 * this component does not install them.
 */
function machineRemarks(node: string, stackFindings: Finding[]): Finding[] {
  const providerFields: readonly string[] = [...gpuProviderFields, "external"];
  const machineFields = fieldsAroundMachines.filter((field) => !providerFields.includes(field));
  return stackFindings
    .filter(({ field }) =>
      [`machines.${node}`, "machineDefaults", ...machineFields].some((path) =>
        isWithin(field, path),
      ),
    )
    .map((remark) => asArgument(remark, node));
}

/** A finding with the name of the argument instead of the stack's field. */
function asArgument(finding: Finding, node: string): Finding {
  const { field } = finding;
  const machinePath = `machines.${node}`;
  if (field === machinePath) return { ...finding, field: "nodeName" };
  const parentPath = [machinePath, "machineDefaults"].find((prefix) =>
    field.startsWith(`${prefix}.`),
  );
  return {
    ...finding,
    field: parentPath === undefined ? field : field.slice(parentPath.length + 1),
  };
}

/** Arguments that a stack does not have. */
const ofTheResource = ["nodeName", ...credentialNames] as const;

/** The arguments as a cluster. */
function clusterOfOne(node: string, args: object): ClusterSpec {
  const [, stated] = split(args, ofTheResource);
  const [cluster, machine] = split(stated, fieldsAroundMachines);
  return { ...cluster, machines: { [node]: machine } } as unknown as ClusterSpec;
}

/**
 * Splits an object into two: the properties with these keys, and all other properties. Leaves out undefined properties.
 */
function split(
  args: object,
  keys: readonly string[],
): [Record<string, unknown>, Record<string, unknown>] {
  const entries = Object.entries(args).filter(([, value]) => value !== undefined);
  const isOfKeys = ([key]: [string, unknown]): boolean => keys.includes(key);
  return [
    Object.fromEntries(entries.filter(isOfKeys)),
    Object.fromEntries(entries.filter((entry) => !isOfKeys(entry))),
  ];
}
