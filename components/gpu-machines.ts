import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { fromCheckedStack } from "./checked-arguments";
import type { Credentials } from "./credentials";
import { GpuMachine, registerSchematics } from "./machine";
import { secretOf } from "./machine/shared";
import type { MachineRecipe, Plan } from "./recipe/types";

/** What a machine was seen to run. */
export interface MachineReport {
  /** Talos release, e.g. `v1.12.6`. */
  talosVersion: string;
  /** Image Factory schematic: the SHA-256 of its recipe. */
  schematicId: string;
  /** Loaded NVIDIA driver, e.g. `570.211.01`; empty on a machine without a GPU. */
  driverVersion: string;
}

/** A machine of a cluster with what was planned for it. */
export interface PlannedMachine {
  recipe: MachineRecipe;
  machine: GpuMachine;
}

/**
 * The machines of a plan, in its order: each starts when those that it comes after are done. Where the stack bootstraps its
 * cluster, the first one, a control plane, does that; the others have its kubeconfig, and a provider made
 * from it takes the place of that of the options.
 *
 * @param first what every machine waits for.
 */
export function gpuMachines(
  name: string,
  plan: Plan,
  credentials: Credentials,
  first: pulumi.Resource,
  opts: pulumi.ComponentResourceOptions,
): { machines: PlannedMachine[]; kubernetes: k8s.Provider | undefined } {
  const schematics = registerSchematics(
    name,
    plan.machines.filter(({ configuration }) => configuration !== "omni"),
    opts,
  );
  const shared = common(plan, credentials);
  const made = new Map<string, GpuMachine>();
  const maintenance = plan.spec.bootstrap === true;
  let kubeconfig: pulumi.Output<string> | undefined;
  let kubernetes: k8s.Provider | undefined;
  for (const recipe of plan.machines) {
    const before = (plan.after[recipe.name] ?? []).flatMap((earlier) => made.get(earlier) ?? []);
    const machine = new GpuMachine(
      `${name}-${recipe.name}`,
      fromCheckedStack({
        ...shared,
        ...plan.spec.machines[recipe.name]!,
        nodeName: recipe.name,
        recipe,
        ...defined({ schematicId: schematics[recipe.schematicId] }),
        otherControlPlanes: otherControlPlanes(plan, recipe),
        ...(maintenance ? { maintenance, ...(kubeconfig ? { kubeconfig } : { bootstrap: true }) } : {}),
      }),
      pulumi.mergeOptions(opts, {
        dependsOn: before.length > 0 ? done(before) : first,
        ...(kubernetes === undefined ? {} : { provider: kubernetes }),
      }),
    );
    if (maintenance && kubernetes === undefined) {
      ({ kubeconfig } = machine);
      kubernetes = new k8s.Provider(`${name}-kubernetes`, { kubeconfig, clusterIdentifier: name }, opts);
    }
    made.set(recipe.name, machine);
  }
  const machines = plan.machines.map((recipe) => ({ recipe, machine: made.get(recipe.name)! }));
  return { machines, kubernetes };
}

/** What every machine of a cluster is told. Credentials as outputs, so that what is made of them is made once for all machines. */
function common(plan: Plan, credentials: Credentials) {
  const { talosconfig, machineSecrets, kubeconfig, omniEndpoint, omniServiceAccountKey } = credentials;
  const { talosVersion, kubernetesVersion, clusterName, clusterEndpoint, upgrade, timeouts, factoryUrl } = plan.spec;
  return {
    talosVersion,
    ...defined({ kubernetesVersion, clusterName, clusterEndpoint, upgrade, timeouts, factoryUrl }),
    ...secrets({ talosconfig, machineSecrets, kubeconfig, omniEndpoint, omniServiceAccountKey }),
  };
}

type Given = { [field in keyof Credentials]: Credentials[field] | undefined };

function secrets(given: Given): { [field in keyof Credentials]?: pulumi.Output<string> } {
  const said = Object.entries(given).filter(([, text]) => text !== undefined);
  return Object.fromEntries(said.map(([field, text]) => [field, secretOf(text!)]));
}

function otherControlPlanes(plan: Plan, machine: MachineRecipe): string[] {
  return plan.machines
    .filter((other) => other.role === "controlplane" && other.name !== machine.name)
    .map((other) => other.address);
}

/**
 * For `dependsOn`: that machines are done. Not the components themselves, which would stand for every one of their
 * resources: the last one of each is enough, and keeps the dependencies of a large cluster few.
 */
export function done(machines: GpuMachine[]): pulumi.Output<pulumi.Resource[]> {
  return pulumi.all(machines.map((machine) => machine.ready)).apply(() => []);
}

/** What was seen on the machines, by node name. */
export function reports(machines: PlannedMachine[]): pulumi.Output<Record<string, MachineReport>> {
  return pulumi.all(machines.map(({ machine }) => reportOf(machine))).apply((seen) => {
    return Object.fromEntries(machines.map(({ recipe }, index) => [recipe.name, seen[index]!]));
  });
}

function reportOf({ talosVersion, schematicId, driverVersion, ready }: GpuMachine): pulumi.Output<MachineReport> {
  return pulumi
    .all([talosVersion, schematicId, driverVersion, ready])
    .apply(([talos, schematic, driver]) => ({ talosVersion: talos, schematicId: schematic, driverVersion: driver }));
}

type Defined<T> = { [key in keyof T]?: Exclude<T[key], undefined> };

function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
