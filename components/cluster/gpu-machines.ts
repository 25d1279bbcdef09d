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
 * Makes the machines of a plan: each starts when its predecessors are complete. It makes the control planes and the
 * workers of `upgrade.first` at once, and the others once the tests of these workers have passed. Without
 * `upgrade.first` it makes all at once. In a stack that bootstraps its cluster, the first machine, a control plane,
 * does that. The others have its kubeconfig, and a provider made from it replaces that of the options.
 *
 * @param inputs.schematics IDs of the machines' images by themselves; they resolve once the Image Factory has them.
 * @param inputs.after what the first machines wait for.
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
  /** By node name, as far as they are made. */
  const made = new Map<string, MadeMachine>();
  // That machines are done. Not the components themselves, which would stand for every one of their resources: the
  // last ones of each are enough, and keep the dependencies of a large cluster few.
  const lastOf = (names: readonly string[]): pulumi.Resource[] =>
    names.map((one) => made.get(one)!.last);
  const create = (
    machine: PlannedMachine,
    among: PlannedMachine[],
    first: pulumi.Resource,
    using: { access: Access; bootstraps?: string },
    provider: pulumi.ComponentResourceOptions = {},
  ): MadeMachine => {
    const before = (plan.after[machine.name] ?? []).filter((earlier) =>
      among.some((one) => one.name === earlier),
    );
    const it = createMachine(
      `${name}-${machine.name}`,
      machine,
      { ...using, schematicId: schematics[machine.schematicId] },
      pulumi.mergeOptions(opts, {
        dependsOn: before.length > 0 ? lastOf(before) : first,
        ...provider,
        ...(plan.spec.away?.includes(machine.name) ? { transformations: [leftAsIs] } : {}),
      }),
    );
    made.set(machine.name, it);
    return it;
  };

  const bootstrapping = plan.spec.bootstrap ? ahead[0] : undefined;
  const own = bootstrapping && create(bootstrapping, ahead, after, { access, bootstraps: name });
  const fetched = own?.kubeconfig;
  const shared = fetched ? withKubeconfig(access, fetched) : access;
  const provider = fetched && {
    provider: new k8s.Provider(
      `${name}-kubernetes`,
      { kubeconfig: fetched, clusterIdentifier: name },
      opts,
    ),
  };
  // Loops: the SDK writes down the whole stack of calls with every resource, and a large cluster has thousands.
  for (const machine of ahead.slice(own ? 1 : 0))
    create(machine, ahead, after, { access: shared }, provider);
  const makeRest = (tested: pulumi.Resource): Map<string, pulumi.Resource[]> => {
    for (const machine of rest) create(machine, rest, tested, { access: shared }, provider);
    return new Map(rest.filter(hasGpus).map((machine) => [machine.name, lastOf([machine.name])]));
  };
  const kubeconfig = shared.secrets.kubeconfig ?? pulumi.secret("");
  return {
    stages: {
      ahead: lastOf(ahead.filter(hasGpus).map((machine) => machine.name)),
      ...(rest.length > 0 ? { rest: makeRest } : {}),
    } satisfies Stages,
    /** Of an administrator: fetched where the stack bootstraps the cluster, else as given, else empty. Secret. */
    kubeconfig,
    /**
     * Options of everything that the stack makes in its cluster: the provider of one that is bootstrapped here, and
     * the owner's mark.
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
     * Reports of the machines, by node name, once all of them are complete, also those of later stages.
     *
     * @param settled called for each machine as soon as it is done. Default: nothing is called.
     */
    reports: (
      settled?: (machine: string) => void,
    ): pulumi.Output<Record<string, MachineReport>> => {
      const all = machines.map((machine) => ({ node: machine.name, ...made.get(machine.name)! }));
      if (settled) for (const { node, ready } of all) ready.apply(() => settled(node));
      // One list of all, since with a thousand machines each output costs.
      const seen = pulumi.all(all.map(({ upgraded }) => upgraded.seen));
      return pulumi
        .all([seen, pulumi.all(all.map(({ ready }) => ready))])
        .apply(([reports]) =>
          Object.fromEntries(reports.map((report, index) => [all[index]!.node, report])),
        );
    },
  };
}

const hasGpus = ({ gpuCount }: PlannedMachine): boolean => gpuCount > 0;

/** An update changes nothing of a machine that is away. */
export const leftAsIs: pulumi.ResourceTransformation = ({ props, opts }) => ({
  props,
  opts: pulumi.mergeOptions(opts, { ignoreChanges: ["*"] }),
});
