import { defined } from "../mapping";
import type { ClusterSpec, MachineSpec, ReleaseFactsSpec } from "../spec/index";

/** The stack from the view of a machine: with the machine's own Talos release and driver, if it has them. */
export function specFor(spec: ClusterSpec, { talosVersion, driver }: MachineSpec): ClusterSpec {
  if (talosVersion === undefined && driver === undefined) return spec;
  const { releaseFacts: _facts, otherReleaseFacts: _others, ...rest } = spec;
  const version = talosVersion ?? spec.talosVersion;
  return {
    ...rest,
    talosVersion: version,
    ...defined({
      releaseFacts: factsOf(spec, version),
      driver: driver && { ...spec.driver, ...driver },
    }),
  };
}

/** Facts about a Talos release from a stack or the Image Factory. */
export const factsOf = (
  { releaseFacts, otherReleaseFacts = [] }: ClusterSpec,
  talosVersion: string,
): ReleaseFactsSpec | undefined =>
  [releaseFacts, ...otherReleaseFacts].find((facts) => facts?.talosVersion === talosVersion);

/** Clusters of the machines with their own Talos release or driver: one cluster for each combination. */
export function machineGroups(spec: ClusterSpec): ClusterSpec[] {
  const groups = new Map<string, ClusterSpec>();
  for (const [name, machine] of Object.entries(spec.machines)) {
    const specOfMachine = specFor(spec, machine);
    if (specOfMachine === spec) continue;
    const { talosVersion: _version, driver: _driver, ...machineFields } = machine;
    const key = JSON.stringify([specOfMachine.talosVersion, specOfMachine.driver]);
    const group = groups.get(key) ?? { ...specOfMachine, machines: {} };
    group.machines[name] = machineFields;
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Whether a path equals a second path, or is below it. */
export const isWithin = (path: string, parent: string): boolean =>
  path === parent || path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`);
