import { Provider } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { type Access, withKubeconfig } from "../credentials/access";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { bootstrapCluster } from "./bootstrap";
import { configureMachine } from "./configuration";
import { hookPrediction, type UpdatePrediction } from "./foretell";
import { labelNode } from "./node";
import { registerSchematic } from "./schematic";
import { type Upgraded, upgradeMachine } from "./upgrade";

/** Pulumi type of a machine's component. */
export const machineType = "talos-gpu:index:GpuMachine";

/** Names of the resources that change a machine. */
export const resourceNames = (name: string) => ({
  configuration: `${name}-configuration`,
  upgrade: `${name}-upgrade`,
  node: `${name}-node`,
});

/** Inputs for the resources of a machine. */
export interface MachineInputs {
  access: Access;
  /**
   * ID of the machine's schematic, if it is already registered. Default: the schematic is registered as a resource of
   * the machine.
   */
  schematicId?: pulumi.Input<string> | undefined;
  /** Name of the cluster that this machine bootstraps. Default: the cluster already exists. */
  bootstraps?: string | undefined;
}

/** The resources of a machine. */
export interface MadeMachine {
  /** Name of the node. Resolves once the machine is complete, and its node has its labels and taints. */
  ready: pulumi.Output<string>;
  /**
   * Kubeconfig of the cluster that this machine bootstraps. Resolves once the machine is a node of the cluster. Secret.
   * Undefined if the cluster already exists.
   */
  kubeconfig: pulumi.Output<string> | undefined;
  upgraded: Upgraded;
  /** The last resource: once it exists, the machine is complete. */
  last: pulumi.Resource;
  /** Outputs of its component. */
  outputs: Record<string, pulumi.Output<string>>;
}

/** Creates the resources of a planned and checked machine. */
export function createMachine(
  name: string,
  machine: PlannedMachine,
  inputs: MachineInputs,
  opts: pulumi.ComponentResourceOptions,
): MadeMachine {
  const prediction = hookPrediction(name, machine, (): pulumi.Resource => component, opts);
  const component = new MachineComponent(name, prediction);
  const madeMachine = machineResources(name, machine, inputs, component, prediction);
  component.setOutputs(madeMachine);
  return madeMachine;
}

/** The component of a machine in a GpuCluster. */
class MachineComponent extends pulumi.ComponentResource {
  constructor(name: string, { state, component }: UpdatePrediction) {
    super(machineType, name, state, component);
  }

  setOutputs({ outputs }: MadeMachine): void {
    this.registerOutputs(outputs);
  }
}

/** Creates the child resources of a machine's component, in order. */
export function machineResources(
  name: string,
  machine: PlannedMachine,
  { access, schematicId, bootstraps }: MachineInputs,
  parent: pulumi.Resource,
  foretelling: UpdatePrediction,
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
  // The kubeconfig for the provider resolves only once the machine is a node. Pulumi's Kubernetes provider asks for the
  // API's schema only once, when it is configured. If the cluster does not answer then, it counts as unreachable until
  // the update ends (pulumi-kubernetes, provider/pkg/provider/provider.go, Configure: clusterUnreachable).
  const joined = fetched && pulumi.all([fetched, upgraded.resource.urn]).apply(([text]) => text);
  // The options of the component cannot contain this provider, because it needs the kubeconfig of this machine.
  const provider =
    joined &&
    new Provider(`${name}-kubernetes`, { kubeconfig: joined, clusterIdentifier: name }, child);
  const last = labelNode(names.node, upgraded.resource, machine, child, provider);
  // A preview knows this value, unlike an output of the resource, so it shows the resources that use it.
  const ready = last.urn.apply(() => machine.name);
  const kubeconfig = joined && pulumi.secret(joined);
  const { driverVersion, talosVersion, schematicId: runs } = upgraded.report;
  // In an existing cluster every machine has the same kubeconfig, which the state need not repeat.
  const outputs = {
    driverVersion,
    talosVersion,
    schematicId: runs,
    ready,
    ...(kubeconfig && { kubeconfig }),
  };
  return { ready, kubeconfig, upgraded, last, outputs };
}
