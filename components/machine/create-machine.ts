import { Provider } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { type Access, withKubeconfig } from "../credentials/access";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { bootstrapCluster } from "./bootstrap";
import { configureMachine } from "./configuration";
import { foretell, type Foretelling } from "./foretell";
import { labelNode } from "./node";
import { registerSchematic } from "./schematic";
import { type Upgraded, upgradeMachine } from "./upgrade";

/** Type of the component of a machine. */
export const machineType = "talos-gpu:index:GpuMachine";

/** Names of the resources of a machine that an update brings to what the stack says. */
export const resourceNames = (name: string) => ({
  configuration: `${name}-configuration`,
  upgrade: `${name}-upgrade`,
  node: `${name}-node`,
});

/** Inputs for the resources of a machine. */
export interface MachineInputs {
  access: Access;
  /** ID of the machine's schematic, where it is registered already. Default: it is registered here. */
  schematicId?: pulumi.Input<string> | undefined;
  /** Name of the cluster that is bootstrapped on this machine. Default: there is a cluster. */
  bootstraps?: string | undefined;
}

/** A machine as its resources. */
export interface MadeMachine {
  /** Name of the node. Resolves once the machine is done and its node is as wanted. */
  ready: pulumi.Output<string>;
  /**
   * Kubeconfig of the cluster that is bootstrapped here, once the machine is a node of it. Secret. Undefined where
   * there is a cluster.
   */
  kubeconfig: pulumi.Output<string> | undefined;
  upgraded: Upgraded;
  /** The resource that is made last: once it exists, the machine is complete. */
  last: pulumi.Resource;
  /** Outputs of its component. */
  outputs: Record<string, pulumi.Output<string>>;
}

/** Makes a machine that was planned and checked. */
export function createMachine(
  name: string,
  machine: PlannedMachine,
  inputs: MachineInputs,
  opts: pulumi.ComponentResourceOptions,
): MadeMachine {
  const foretelling = foretell(name, machine, (): pulumi.Resource => component, opts);
  const component = new MachineComponent(name, foretelling);
  const made = machineResources(name, machine, inputs, component, foretelling);
  component.is(made);
  return made;
}

/** The component of a machine of a cluster. */
class MachineComponent extends pulumi.ComponentResource {
  constructor(name: string, { state, component }: Foretelling) {
    super(machineType, name, state, component);
  }

  is({ outputs }: MadeMachine): void {
    this.registerOutputs(outputs);
  }
}

/** The resources below the component of a machine, in order. */
export function machineResources(
  name: string,
  machine: PlannedMachine,
  { access, schematicId, bootstraps }: MachineInputs,
  parent: pulumi.Resource,
  foretelling: Foretelling,
): MadeMachine {
  const child = { parent };
  const names = resourceNames(name);
  const configuration = configureMachine(names.configuration, machine, access, child);
  const fetched =
    bootstraps === undefined
      ? undefined
      : bootstrapCluster(bootstraps, machine, access, configuration, child);
  const { secrets } = fetched === undefined ? access : withKubeconfig(access, fetched);
  const program = foretelling.program(child);
  const schematicOf = (): pulumi.Input<string> =>
    machine.ownImage
      ? machine.schematicId
      : (schematicId ?? registerSchematic(`${name}-schematic`, machine, child));
  const upgraded = upgradeMachine(
    names.upgrade,
    machine,
    secrets,
    configuration,
    schematicOf,
    program,
  );
  // To make a provider from it comes once the machine is a node of its cluster: Pulumi's Kubernetes provider asks for
  // the API's schema once, as it is configured. It treats a cluster that does not answer then as unreachable until
  // the update ends (pulumi-kubernetes, provider/pkg/provider/provider.go, Configure: clusterUnreachable).
  const joined = fetched && pulumi.all([fetched, upgraded.by.urn]).apply(([text]) => text);
  // A provider in the options would have to exist before the machine, but it needs the machine's kubeconfig.
  const provider =
    joined &&
    new Provider(`${name}-kubernetes`, { kubeconfig: joined, clusterIdentifier: name }, child);
  const last = labelNode(names.node, upgraded.by, machine, child, provider);
  // Unlike an output of the resource it is known at preview, so a reader of the preview sees what will be done with it.
  const ready = last.urn.apply(() => machine.name);
  const kubeconfig = joined && pulumi.secret(joined);
  const { driverVersion, talosVersion, schematicId: runs } = upgraded.seen;
  // In an existing cluster, the state need not repeat it for each machine.
  const outputs = {
    driverVersion,
    talosVersion,
    schematicId: runs,
    ready,
    ...(kubeconfig && { kubeconfig }),
  };
  return { ready, kubeconfig, upgraded, last, outputs };
}
