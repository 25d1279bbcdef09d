import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { type Access, withKubeconfig } from "../credentials/access";
import type { Stages } from "../kubernetes";
import { guarded } from "../kubernetes/guard";
import { createMachine, type MadeMachine } from "../machine/create-machine";
import type { MachineReport } from "../machine/upgrade";
import { upgradeStages } from "../recipe/machine/order";
import { type PlannedMachine, plannedMachines } from "../recipe/machine/planned-machine";
import type { Plan } from "../recipe/types";

/** What the machines of a cluster are made with. */
export interface FleetInputs {
  access: Access;
  /** IDs of the machines' images by themselves; they resolve once the Image Factory has them. */
  schematics: Record<string, pulumi.Output<string>>;
  /** What the first machines wait for. */
  after: pulumi.Resource;
}

/**
 * The machines of a plan: each starts when those that it comes after are done. Those that go ahead are made at once, or all where
 * none does; the others once the tests of those ahead have passed. Where the stack bootstraps its cluster, the first machine, a
 * control plane, does that; the others have its kubeconfig, and a provider made from it takes the place of that of the options.
 */
export class Fleet {
  /** The machines in stages, for what comes after them. */
  readonly stages: Stages;
  /** Kubeconfig of an administrator: fetched where the stack bootstraps the cluster, else as given, else empty. Secret. */
  readonly kubeconfig: pulumi.Output<string>;
  /** Provider of a cluster that is bootstrapped here. */
  readonly provider: k8s.Provider | undefined;
  /** By node name, as far as they are made. */
  private readonly made = new Map<string, MadeMachine>();
  private readonly machines: PlannedMachine[];

  constructor(
    private readonly name: string,
    private readonly plan: Plan,
    { access, schematics, after }: FleetInputs,
    private readonly opts: pulumi.ComponentResourceOptions,
  ) {
    this.machines = plannedMachines(plan);
    const { ahead, rest } = upgradeStages(this.machines, plan.spec.upgrade);
    const bootstraps = plan.spec.bootstrap ? ahead[0] : undefined;
    const stage = namesOf(ahead);
    let shared = access;
    if (bootstraps) {
      const made = this.create(bootstraps, stage, { access, schematics, after }, name);
      shared = withKubeconfig(access, made.kubeconfig);
      this.provider = new k8s.Provider(
        `${name}-kubernetes`,
        { kubeconfig: made.kubeconfig, clusterIdentifier: name },
        opts,
      );
    }
    // Loops: the SDK writes down the whole stack of calls with every resource, and a large cluster has thousands.
    for (const machine of ahead.slice(bootstraps ? 1 : 0))
      this.create(machine, stage, { access: shared, schematics, after });
    this.kubeconfig = shared.secrets.kubeconfig ?? pulumi.secret("");
    const createRest = (tested: pulumi.Resource): Map<string, pulumi.Resource[]> => {
      const later = namesOf(rest);
      for (const machine of rest) this.create(machine, later, { access: shared, schematics, after: tested });
      return new Map(rest.filter(hasGpus).map((machine) => [machine.name, this.lastOf([machine.name])]));
    };
    this.stages = {
      ahead: this.lastOf(ahead.filter(hasGpus).map(({ name: machine }) => machine)),
      ...(rest.length > 0 ? { rest: createRest } : {}),
    };
  }

  /** Options of everything that the stack makes in its cluster: the provider of one that is bootstrapped here, and the owner's mark. */
  inCluster(): pulumi.CustomResourceOptions {
    const { name, plan, opts, kubeconfig, provider } = this;
    const { gpuOperator, devicePlugin } = plan.spec;
    return {
      ...opts,
      ...(provider === undefined ? {} : { provider }),
      transformations: [guarded(name, kubeconfig, (gpuOperator ?? devicePlugin)?.takeOver)],
    };
  }

  /**
   * What was seen on the machines, by node name, once all of them are made.
   *
   * @param settled told of each machine that is done, as soon as it is. Default: nobody is.
   */
  reports(settled?: (machine: string) => void): pulumi.Output<Record<string, MachineReport>> {
    const made = this.machines.map(({ name }) => this.made.get(name)!);
    if (settled) for (const { name } of this.machines) this.made.get(name)!.ready.apply(() => settled(name));
    // One list of all, since with a thousand machines each output costs.
    const seen = made.map(({ upgraded }) => upgraded.seen);
    return pulumi
      .all([pulumi.all(seen), pulumi.all(made.map(({ ready }) => ready))])
      .apply(([all]) => Object.fromEntries(all.map((report, index) => [this.machines[index]!.name, report])));
  }

  /** @param stage machines among which those are waited for that it comes after; the first of them wait for `after`. */
  private create(
    machine: PlannedMachine,
    stage: ReadonlySet<string>,
    { access, schematics, after }: FleetInputs,
    bootstraps?: string,
  ): MadeMachine {
    const { name, plan, opts, provider } = this;
    const before = (plan.after[machine.name] ?? []).filter((earlier) => stage.has(earlier));
    const made = createMachine(
      `${name}-${machine.name}`,
      machine,
      { access, schematicId: schematics[machine.schematicId], bootstraps },
      pulumi.mergeOptions(opts, {
        dependsOn: before.length > 0 ? this.lastOf(before) : after,
        ...(provider === undefined ? {} : { provider }),
        ...(plan.spec.away?.includes(machine.name) ? { transformations: [leftAsIs] } : {}),
      }),
    );
    this.made.set(machine.name, made);
    return made;
  }

  /**
   * For `dependsOn`: that machines are done. Not the components themselves, which would stand for every one of their
   * resources: the last ones of each are enough, and keep the dependencies of a large cluster few.
   */
  private lastOf(machines: readonly string[]): pulumi.Resource[] {
    return machines.flatMap((name) => this.made.get(name)!.last);
  }
}

const namesOf = (machines: readonly PlannedMachine[]): Set<string> => new Set(machines.map(({ name }) => name));
const hasGpus = ({ gpuCount }: PlannedMachine): boolean => gpuCount > 0;

/** Of a machine that is away nothing changes, of whatever the stack says. */
export const leftAsIs: pulumi.ResourceTransformation = ({ props, opts }) => ({
  props,
  opts: pulumi.mergeOptions(opts, { ignoreChanges: ["*"] }),
});
