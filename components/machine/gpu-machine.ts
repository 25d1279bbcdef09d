import * as pulumi from "@pulumi/pulumi";
import { accessOf } from "../credentials/access";
import { type GpuMachineArgs, planAlone } from "./alone";
import { machineResources, machineType } from "./create-machine";
import { foretell } from "./foretell";

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

  constructor(name: string, args: GpuMachineArgs, opts?: pulumi.ComponentResourceOptions) {
    const node = nodeNameOf(name, args);
    const machine = planAlone(name, node, args);
    const foretelling = foretell(name, machine, () => this, opts);
    super(machineType, name, foretelling.state, foretelling.component);
    const made = machineResources(name, machine, { access: accessOf(args) }, this, foretelling);
    this.ready = made.ready;
    const { driverVersion, talosVersion, schematicId } = made.upgraded.seen;
    this.driverVersion = driverVersion;
    this.talosVersion = talosVersion;
    this.schematicId = schematicId;
    this.registerOutputs(made.outputs);
  }
}

/** The node that is meant; where that cannot be told, the checks say so. */
function nodeNameOf(name: string, args: unknown): string {
  const { nodeName } = (args ?? {}) as { nodeName?: unknown };
  return typeof nodeName === "string" ? nodeName : String(name);
}
