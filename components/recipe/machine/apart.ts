import type { ClusterSpec, MachineSpec } from "../stack/spec/index";

/** The stack as a machine sees it: with the Talos release and the driver that are the machine's own, where it has some. */
export function seenBy(spec: ClusterSpec, { talosVersion, driver }: MachineSpec): ClusterSpec {
  if (talosVersion === undefined && driver === undefined) return spec;
  return {
    ...spec,
    talosVersion: talosVersion ?? spec.talosVersion,
    ...(driver === undefined ? {} : { driver: { ...spec.driver, ...driver } }),
  };
}

/** Machines that have a Talos release or a driver of their own, each kind of them as a cluster that has it. */
export function groupsApart(spec: ClusterSpec): ClusterSpec[] {
  const groups = new Map<string, ClusterSpec>();
  for (const [name, machine] of Object.entries(spec.machines)) {
    const seen = seenBy(spec, machine);
    if (seen === spec) continue;
    const { talosVersion: _version, driver: _driver, ...rest } = machine;
    const key = JSON.stringify([seen.talosVersion, seen.driver]);
    const group = groups.get(key) ?? { ...seen, machines: {} };
    group.machines[name] = rest;
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Whether a path is another one, or below it. */
export function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`);
}
