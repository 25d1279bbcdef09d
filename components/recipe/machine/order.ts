import type { MachineRole } from "../stack/spec/index";

/** What the order of upgrades depends on. */
export interface Ordered {
  name: string;
  role: MachineRole;
}

/** Machines in upgrade order: control planes first, then workers, each by name. */
export function inUpgradeOrder<M extends Ordered>(machines: M[]): M[] {
  const rank = (machine: Ordered): number => (machine.role === "controlplane" ? 0 : 1);
  return [...machines].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * For each machine, those that must be done before it starts: a control plane waits for the one before it; worker i for
 * worker i - maxParallel, and the first ones for the last control plane.
 */
export function upgradeWindows(ordered: Ordered[], maxParallel: number): Record<string, string[]> {
  const controlPlanes = ordered.filter((machine) => machine.role === "controlplane");
  const workers = ordered.filter((machine) => machine.role === "worker");
  const window = Math.max(1, Math.floor(maxParallel));
  const names = (...machines: (Ordered | undefined)[]): string[] =>
    machines.flatMap((machine) => (machine ? [machine.name] : []));
  return Object.fromEntries([
    ...controlPlanes.map((machine, index) => [machine.name, names(controlPlanes[index - 1])]),
    ...workers.map((machine, index) => [
      machine.name,
      names(index < window ? controlPlanes.at(-1) : workers[index - window]),
    ]),
  ]) as Record<string, string[]>;
}
