import * as pulumi from "@pulumi/pulumi";
import type { GpuMachineArgs } from "./args";
import { bootstrapCluster, onceJoined, ownProvider } from "./bootstrap";
import { configureMachine } from "./configuration";
import { machineState } from "../recipe/effect";
import { foretell } from "./foretell";
import { patchNode } from "./node";
import { awaitOmni } from "./omni";
import { recipeOf } from "./recipe";
import { registerSchematic } from "./schematic";
import { secretOf } from "../credentials/made-once";
import { type MachineReport, upgradeMachine } from "./upgrade";

/**
 * One Talos machine as a GPU node: its schematic, its configuration, its image, its node's labels and taints. At most one
 * reboot per update, none when nothing changes.
 *
 * Used alone, outside of a GpuCluster, it looks before its reboot at what the machine would lose and pulls the image; that
 * Kubernetes does not answer shows at the drain. A cluster asks for all of that, and for its chart, before it touches the first
 * machine.
 */
export class GpuMachine extends pulumi.ComponentResource {
  /** Version of the loaded NVIDIA driver, e.g. `570.211.01`; empty on a machine without a GPU. Resolves once the machine runs the wanted image with the driver up. */
  public readonly driverVersion: pulumi.Output<string>;
  /** Talos release that the machine runs, as seen on it, e.g. `v1.12.6`. */
  public readonly talosVersion: pulumi.Output<string>;
  /** Image Factory schematic that the machine runs, as seen on it. */
  public readonly schematicId: pulumi.Output<string>;
  /** Name of the machine's node. Resolves once the machine is done and its node has its labels and taints: wait for it. */
  public readonly ready: pulumi.Output<string>;
  /** Kubeconfig that the machine is drained with: of the cluster that was bootstrapped here, once the machine is a node of it; else as given, else empty. Secret. */
  public readonly kubeconfig: pulumi.Output<string>;

  constructor(name: string, args: GpuMachineArgs, opts?: pulumi.ComponentResourceOptions) {
    const node = nodeNameOf(name, args);
    const recipe = recipeOf(name, node, args);
    const state = machineState(recipe, args);
    const foretelling = foretell(name, node, state, () => this, opts);
    super("talos-gpu:index:GpuMachine", name, state, foretelling.component);
    const child = { parent: this };

    const configuration = configureMachine(`${name}-configuration`, { node, args, recipe }, child);
    const fetched = args.bootstrap ? bootstrapCluster(name, args, configuration, child) : undefined;
    const kubeconfig = fetched ?? args.kubeconfig;
    const machine = { node, args: kubeconfig === undefined ? args : { ...args, kubeconfig }, recipe };
    const upgraded =
      args.configuration === "omni"
        ? awaitOmni(`${name}-upgrade`, machine, configuration, foretelling.program(child))
        : upgradeMachine(
            `${name}-upgrade`,
            machine,
            {
              schematicId: args.schematicId ?? registerSchematic(`${name}-schematic`, recipe, child),
              configuration,
            },
            foretelling.program(child),
          );

    const joined = fetched && onceJoined(fetched, upgraded.by);
    const provider = joined && ownProvider(name, joined, child);
    const patched = patchNode(`${name}-node`, upgraded.by, machine, child, provider);
    this.ready = patched.ready;
    this.kubeconfig = secretOf(joined ?? args.kubeconfig ?? "");
    this.driverVersion = upgraded.driverVersion;
    this.talosVersion = upgraded.talosVersion;
    this.schematicId = upgraded.schematicId;
    insides.set(this, { report: upgraded.seen, last: patched.by.length > 0 ? patched.by : [upgraded.by] });
    this.registerOutputs({
      driverVersion: this.driverVersion,
      talosVersion: this.talosVersion,
      schematicId: this.schematicId,
      ready: this.ready,
      // Of a cluster that is there the state need not have it again for each machine.
      ...(fetched === undefined ? {} : { kubeconfig: this.kubeconfig }),
    });
  }
}

/** What a cluster needs of a machine beside its outputs. */
interface Inside {
  /** What was seen on it, in one output. */
  report: pulumi.Output<MachineReport>;
  /** Resources that are made last: once they are there, the machine is done. */
  last: pulumi.Resource[];
}

const insides = new WeakMap<GpuMachine, Inside>();

/** No fields of the machine: a component's fields are its outputs in every language. */
export const insideOf = (machine: GpuMachine): Inside => insides.get(machine)!;

/** The node that is meant; where that cannot be told, the checks say so. */
function nodeNameOf(name: string, args: unknown): string {
  const { nodeName } = (args ?? {}) as { nodeName?: unknown };
  return typeof nodeName === "string" ? nodeName : String(name);
}
