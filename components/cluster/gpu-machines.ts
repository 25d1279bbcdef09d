import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { fromCheckedStack } from "../checked-arguments";
import type { Credentials } from "../credentials/credentials";
import type { Stages } from "../kubernetes";
import { GpuMachine, registerSchematics } from "../machine";
import { bootstrapsCluster } from "../machine/bootstrap";
import { insideOf } from "../machine/gpu-machine";
import { secretOf } from "../credentials/made-once";
import type { MachineReport } from "../machine/upgrade";
import { upgradeStages } from "../recipe/machine/order";
import type { MachineRecipe, Plan } from "../recipe/types";

/** A machine of a cluster with what was planned for it. */
export interface PlannedMachine {
  recipe: MachineRecipe;
  machine: GpuMachine;
}

/**
 * The machines of a plan: each starts when those that it comes after are done. Where the stack bootstraps its
 * cluster, the first one, a control plane, does that; the others have its kubeconfig, and a provider made
 * from it takes the place of that of the options.
 */
export class Fleet {
  /** Machines that were brought so far, in the plan's order. */
  public readonly machines: PlannedMachine[] = [];
  /** Provider of a cluster that is bootstrapped here, once its first machine is brought. */
  public kubernetes: k8s.Provider | undefined;
  private fetched: pulumi.Output<string> | undefined;
  private readonly made = new Map<string, GpuMachine>();
  /** IDs of the machines' images by themselves; they resolve once the Image Factory has them. */
  public readonly schematics: Record<string, pulumi.Output<string>>;
  private readonly shared: ReturnType<typeof common>;
  private readonly controlPlanes: MachineRecipe[];

  constructor(
    private readonly name: string,
    private readonly plan: Plan,
    credentials: Credentials,
    private readonly opts: pulumi.ComponentResourceOptions,
  ) {
    const registered = plan.machines.filter(({ configuration }) => configuration !== "omni");
    this.schematics = registerSchematics(name, registered, opts);
    this.shared = common(plan, credentials);
    this.controlPlanes = plan.machines.filter(({ role }) => role === "controlplane");
  }

  /** Kubeconfig of an administrator: fetched where the stack bootstraps the cluster, else as given, else empty. Secret. */
  get kubeconfig(): pulumi.Output<string> {
    return this.machines[0]?.machine.kubeconfig ?? pulumi.secret("");
  }

  /**
   * Brings the machines that go ahead, or all where none does. The others are brought once the tests of those ahead have
   * passed.
   *
   * @param after what the first of them wait for.
   */
  bring(after: pulumi.Resource): Stages {
    const { ahead, rest } = upgradeStages(this.plan.machines, this.plan.spec.upgrade);
    const first = withGpus(this.some(ahead, after));
    const others = (tested: pulumi.Resource): Map<string, pulumi.Resource[]> =>
      new Map(withGpus(this.some(rest, tested)).map(({ recipe, machine }) => [recipe.name, done([machine])]));
    return { ahead: done(first.map(({ machine }) => machine)), ...(rest.length > 0 ? { rest: others } : {}) };
  }

  /**
   * Brings some of the plan's machines, in its order.
   *
   * @param after what those wait for that wait for no other of them.
   */
  private some(recipes: MachineRecipe[], after: pulumi.Resource): PlannedMachine[] {
    const stage = new Set(recipes.map(({ name }) => name));
    const brought: PlannedMachine[] = [];
    // A loop: the SDK writes down the whole stack of calls with every resource, and a large cluster has thousands.
    for (const recipe of recipes) brought.push({ recipe, machine: this.one(recipe, stage, after) });
    this.machines.push(...brought);
    return brought;
  }

  private one(recipe: MachineRecipe, stage: Set<string>, after: pulumi.Resource): GpuMachine {
    const { name, plan, opts } = this;
    const maintenance = plan.spec.bootstrap === true;
    const before = (plan.after[recipe.name] ?? [])
      .filter((earlier) => stage.has(earlier))
      .flatMap((earlier) => this.made.get(earlier) ?? []);
    const args = fromCheckedStack({
      ...this.shared,
      ...plan.spec.machines[recipe.name]!,
      nodeName: recipe.name,
      recipe,
      ...defined({ schematicId: this.schematics[recipe.schematicId] }),
      otherControlPlanes: this.controlPlanes
        .filter((other) => other.name !== recipe.name)
        .map(({ address }) => address),
      ...(maintenance ? { maintenance, ...(this.fetched ? { kubeconfig: this.fetched } : { bootstrap: true }) } : {}),
    });
    if (maintenance && this.fetched === undefined) bootstrapsCluster(args, name);
    const machine = new GpuMachine(
      `${name}-${recipe.name}`,
      args,
      pulumi.mergeOptions(opts, {
        dependsOn: before.length > 0 ? done(before) : after,
        ...(this.kubernetes === undefined ? {} : { provider: this.kubernetes }),
      }),
    );
    if (maintenance && this.kubernetes === undefined) {
      this.fetched = machine.kubeconfig;
      this.kubernetes = new k8s.Provider(
        `${name}-kubernetes`,
        { kubeconfig: machine.kubeconfig, clusterIdentifier: name },
        opts,
      );
    }
    this.made.set(recipe.name, machine);
    return machine;
  }
}

/** What every machine of a cluster is told. Credentials as outputs, so that what is made of them is made once for all machines. */
function common(plan: Plan, credentials: Credentials) {
  const { talosconfig, machineSecrets, kubeconfig, omniEndpoint, omniServiceAccountKey } = credentials;
  const { talosVersion, kubernetesVersion, clusterName, clusterEndpoint, upgrade, timeouts, lookAgain, factoryUrl } =
    plan.spec;
  return {
    talosVersion,
    ...defined({ kubernetesVersion, clusterName, clusterEndpoint, upgrade, timeouts, lookAgain, factoryUrl }),
    ...secrets({ talosconfig, machineSecrets, kubeconfig, omniEndpoint, omniServiceAccountKey }),
  };
}

type Given = { [field in keyof Credentials]: Credentials[field] | undefined };

function secrets(given: Given): { [field in keyof Credentials]?: pulumi.Output<string> } {
  const said = Object.entries(given).filter(([, text]) => text !== undefined);
  return Object.fromEntries(said.map(([field, text]) => [field, secretOf(text!)]));
}

/**
 * For `dependsOn`: that machines are done. Not the components themselves, which would stand for every one of their
 * resources: the last ones of each are enough, and keep the dependencies of a large cluster few.
 */
const done = (machines: GpuMachine[]): pulumi.Resource[] => machines.flatMap((machine) => insideOf(machine).last);

/** Those with a GPU. */
const withGpus = (machines: PlannedMachine[]): PlannedMachine[] => machines.filter(({ recipe }) => recipe.gpuCount > 0);

/**
 * What was seen on the machines, by node name.
 *
 * @param settled told of each machine that is done, as soon as it is. Default: nobody is.
 */
export function reports(
  machines: PlannedMachine[],
  settled?: (machine: string) => void,
): pulumi.Output<Record<string, MachineReport>> {
  if (settled) for (const { recipe, machine } of machines) machine.ready.apply(() => settled(recipe.name));
  // One list of all, since with a thousand machines each output costs.
  const seen = machines.map(({ machine }) => insideOf(machine).report);
  const ready = machines.map(({ machine }) => machine.ready);
  return pulumi
    .all([pulumi.all(seen), pulumi.all(ready)])
    .apply(([all]) => Object.fromEntries(all.map((report, index) => [machines[index]!.recipe.name, report])));
}

type Defined<T> = { [key in keyof T]?: Exclude<T[key], undefined> };

function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
