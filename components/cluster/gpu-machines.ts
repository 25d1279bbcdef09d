import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { type Access, withKubeconfig } from "../credentials/access";
import type { Stages } from "../kubernetes";
import { guarded } from "../kubernetes/guard";
import { createMachine, type MadeMachine } from "../machine/create-machine";
import type { MachineReport } from "../machine/upgrade";
import { gpuProviderFields } from "../recipe/facts/gpu-provider";
import { upgradeStages } from "../recipe/machine/order";
import { type PlannedMachine, plannedMachines } from "../recipe/machine/planned-machine";
import type { Plan } from "../recipe/types";

/**
 * Creates the resources of a plan's machines. The update of a machine starts when its predecessors are complete. With
 * `upgrade.first`, the function first creates the control planes and the workers in this list; `rest` creates the other
 * machines after these workers' tests. With `bootstrap: true`, the first control plane bootstraps etcd. All later
 * resources then use the new cluster's kubeconfig, also in the Kubernetes provider, which replaces the provider in the
 * options.
 *
 * @param inputs.schematics IDs of the machines' schematics as plain outputs; they resolve once the Image Factory has
 *   the schematics.
 * @param inputs.after resources that the first machines wait for.
 */
export function makeFleet(
  name: string,
  plan: Plan,
  inputs: {
    access: Access;
    schematics: Record<string, pulumi.Output<string>>;
    after: pulumi.Resource;
  },
  opts: pulumi.ComponentResourceOptions,
) {
  const { access, schematics, after } = inputs;
  const machines = plannedMachines(plan);
  const { ahead, rest } = upgradeStages(machines, plan.spec.upgrade);
  /** Machines created so far, by node name. */
  const madeMachines = new Map<string, MadeMachine>();
  // Resources to depend on until machines are complete. A dependency on a component would include all of its resources;
  // the last ones suffice, and keep the number of dependencies small in a large cluster.
  const lastOf = (names: readonly string[]): pulumi.Resource[] =>
    names.map((machineName) => madeMachines.get(machineName)!.last);
  const create = (
    machine: PlannedMachine,
    stageMachines: PlannedMachine[],
    dependency: pulumi.Resource,
    context: { access: Access; bootstraps?: string },
    provider: pulumi.ComponentResourceOptions = {},
  ): MadeMachine => {
    const earlierMachines = (plan.after[machine.name] ?? []).filter((earlierName) =>
      stageMachines.some((stageMachine) => stageMachine.name === earlierName),
    );
    const madeMachine = createMachine(
      `${name}-${machine.name}`,
      machine,
      { ...context, schematicId: schematics[machine.schematicId] },
      pulumi.mergeOptions(opts, {
        dependsOn: earlierMachines.length > 0 ? lastOf(earlierMachines) : dependency,
        ...provider,
        ...(plan.spec.away?.includes(machine.name) ? { transformations: [ignoreAllChanges] } : {}),
      }),
    );
    madeMachines.set(machine.name, madeMachine);
    return madeMachine;
  };

  const bootstrapping = plan.spec.bootstrap ? ahead[0] : undefined;
  const bootstrapMachine =
    bootstrapping && create(bootstrapping, ahead, after, { access, bootstraps: name });
  const fetchedKubeconfig = bootstrapMachine?.kubeconfig;
  const sharedAccess = fetchedKubeconfig ? withKubeconfig(access, fetchedKubeconfig) : access;
  const provider = fetchedKubeconfig && {
    provider: new k8s.Provider(
      `${name}-kubernetes`,
      { kubeconfig: fetchedKubeconfig, clusterIdentifier: name },
      opts,
    ),
  };
  // Loops instead of recursion: the SDK records the call stack with every resource, and a large cluster has thousands.
  for (const machine of ahead.slice(bootstrapMachine ? 1 : 0))
    create(machine, ahead, after, { access: sharedAccess }, provider);
  const makeRest = (gate: pulumi.Resource): Map<string, pulumi.Resource[]> => {
    for (const machine of rest) create(machine, rest, gate, { access: sharedAccess }, provider);
    return new Map(rest.filter(hasGpus).map((machine) => [machine.name, lastOf([machine.name])]));
  };
  const kubeconfig = sharedAccess.secrets.kubeconfig ?? pulumi.secret("");
  return {
    stages: {
      dependsOn: lastOf(ahead.filter(hasGpus).map((machine) => machine.name)),
      cordonedAt: new Map(
        machines
          .filter(({ awaitsTest }) => awaitsTest)
          .map((machine) => [machine.name, madeMachines.get(machine.name)!.upgraded.cordonedAt()]),
      ),
      ...(rest.length > 0 ? { rest: makeRest } : {}),
    } satisfies Stages,
    /**
     * Kubeconfig of an administrator (secret): fetched if the stack bootstraps the cluster, else the argument's value,
     * else empty.
     */
    kubeconfig,
    /**
     * Options of every object that the stack creates in its cluster: the guard, which marks the object with its owner,
     * and the Kubernetes provider if the stack bootstraps the cluster.
     */
    inCluster: {
      ...opts,
      ...provider,
      transformations: [
        guarded(
          name,
          kubeconfig,
          gpuProviderFields.map((field) => plan.spec[field]?.takeOver).find(Boolean),
        ),
      ],
    },
    /**
     * Reports of all machines, also of those that `rest` creates. The key is the node name. Resolves once all machines
     * are complete.
     *
     * @param settled called for each machine as soon as it is complete. Default: nothing is called.
     */
    reports: (
      settled?: (machine: string) => void,
    ): pulumi.Output<Record<string, MachineReport>> => {
      const allMachines = machines.map((machine) => ({
        node: machine.name,
        ...madeMachines.get(machine.name)!,
      }));
      if (settled) for (const { node, ready } of allMachines) ready.apply(() => settled(node));
      // One output for all machines: with a thousand machines, many outputs are slow.
      const reportsOfMachines = pulumi.all(allMachines.map(({ upgraded }) => upgraded.report));
      return pulumi
        .all([reportsOfMachines, pulumi.all(allMachines.map(({ ready }) => ready))])
        .apply(([reports]) =>
          Object.fromEntries(reports.map((report, index) => [allMachines[index]!.node, report])),
        );
    },
  };
}

const hasGpus = ({ gpuCount }: PlannedMachine): boolean => gpuCount > 0;

/** Transformation for the resources of an offline machine (`away`): an update changes none of them. */
export const ignoreAllChanges: pulumi.ResourceTransformation = ({ props, opts }) => ({
  props,
  opts: pulumi.mergeOptions(opts, { ignoreChanges: ["*"] }),
});
