import { defined } from "../mapping";
import type { ClusterSpec, MachineSpec, ReleaseFactsSpec } from "../spec/index";

/** The stack with the Talos release and the driver of one machine, if the machine's fields set them. */
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

/**
 * Facts about a Talos release that the user or the Image Factory gave; undefined if the stack has none for this
 * release.
 */
export const factsOf = (
  { releaseFacts, otherReleaseFacts = [] }: ClusterSpec,
  talosVersion: string,
): ReleaseFactsSpec | undefined =>
  [releaseFacts, ...otherReleaseFacts].find((facts) => facts?.talosVersion === talosVersion);

/** The machines with their own Talos release or driver, as one stack for each combination of release and driver. */
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
