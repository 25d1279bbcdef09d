import { asRelease, ownValuesOf } from "./external/external";
import { kubernetesRecipe } from "./cluster/cluster-recipe";
import { machineFacts, type MachineFacts } from "./facts/machine-facts";
import { machineRecipe } from "./machine/machine-recipe";
import { needsMarkers } from "./cluster/markers";
import { factsOf, specFor } from "./machine/apart";
import { inUpgradeOrder, upgradeDependencies } from "./machine/order";
import { injectionOf, findRelease, type Release } from "./facts/talos-release";
import { gpuProviderNameOf, gpuProviderOf } from "./facts/gpu-provider";
import type { ClusterSpec, MachineSpec } from "./spec/index";
import type { MachineRecipe, Plan } from "./types";
import { canonical } from "./mapping";
import { readPatch, type UserPatch } from "./machine/user-patches";

/** A plan with its inputs, for the checks. */
export interface PlanBasis {
  plan: Plan;
  release?: Release;
  /** Facts of the machines, in upgrade order. */
  facts: MachineFacts[];
  clusterPatches: UserPatch[];
  /** Patches of each machine, in the order of `facts`. */
  machinePatches: UserPatch[][];
}

/**
 * Computes everything that a stack will do. Pure. It never fails for a stack that fits the schema: for an unknown
 * release or card it uses the nearest known one, and `checkCluster` reports the unknown one.
 */
export const planCluster = (spec: ClusterSpec): Plan => planBasis(spec).plan;

/**
 * Recipe fields that say how many units of a resource the machine's node should offer: one for each card. The user's
 * own chart values (`isOwn`) may share or split the cards, so that the node may offer more.
 */
const offered = (
  { gpuCount }: MachineRecipe,
  name: string,
  isOwn: boolean,
): Partial<MachineRecipe> => ({
  allocatable: { [name]: gpuCount },
  ...(isOwn ? { atLeast: [name] } : {}),
});

/** The plan of a stack, with the inputs of the checks. */
export function planBasis(statedSpec: ClusterSpec): PlanBasis {
  // The order of keys in the file changes neither a plan nor the hashes in it.
  const spec = canonical(statedSpec);
  const release = findRelease(spec.talosVersion, factsOf(spec, spec.talosVersion));
  const releases = new Map([[spec.talosVersion, release]]);
  const releaseOf = ({ talosVersion = spec.talosVersion }: MachineSpec): Release | undefined => {
    if (!releases.has(talosVersion))
      releases.set(talosVersion, findRelease(talosVersion, factsOf(spec, talosVersion)));
    return releases.get(talosVersion);
  };
  const injection = injectionOf(spec.talosVersion);
  const ownValues = ownValuesOf(spec);
  const mode = gpuProviderNameOf(asRelease(spec));
  const wholeResource = ownValues?.resourceName ?? gpuProviderOf(mode).deviceClass;
  const clusterPatches = (spec.patches ?? []).map((text, index) =>
    readPatch(text, `patches[${index}]`),
  );
  const facts = inUpgradeOrder(
    Object.entries(spec.machines).map(([name, machine]) => ({
      ...machineFacts(name, machine, specFor(spec, machine), releaseOf(machine)),
      role: machine.role,
    })),
    spec.upgrade?.first,
  );
  const machinePatches = facts.map(({ name, spec: { patches = [] } }) =>
    patches.map((text, index) => readPatch(text, `machines.${name}.patches[${index}]`)),
  );
  const context = {
    spec,
    ...(release ? { release } : {}),
    mode,
    markers: needsMarkers(injection, mode),
    clusterPatches,
  };
  const machines = facts.map((machine, index) => {
    const machineRelease = releaseOf(machine.spec);
    const machineContext = {
      ...context,
      spec: specFor(spec, machine.spec),
      ...(machineRelease ? { release: machineRelease } : {}),
    };
    const recipe = machineRecipe(machine, machinePatches[index]!, machineContext);
    const countsGpus = wholeResource === undefined || recipe.gpuCount === 0;
    return countsGpus
      ? recipe
      : { ...recipe, ...offered(recipe, wholeResource, ownValues !== undefined) };
  });
  const kubernetes = kubernetesRecipe(spec, facts, injection, mode);
  const plan: Plan = {
    spec,
    injection,
    machines,
    kubernetes,
    after: upgradeDependencies(machines, spec.upgrade),
  };
  return { plan, ...(release ? { release } : {}), facts, clusterPatches, machinePatches };
}
