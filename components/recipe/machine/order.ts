import type { UpgradeSpec } from "../spec/index";
import type { MachineRecipe } from "../types";

/** Fields of a machine that decide its place in the order of upgrades. */
export type Ordered = Pick<MachineRecipe, "name" | "role">;

/**
 * Machines in upgrade order: control planes by name, then the workers of `upgrade.first` in their order, then the
 * others by name.
 */
export function inUpgradeOrder<M extends Ordered>(
  machines: M[],
  first: readonly string[] = [],
): M[] {
  const rank = ({ name, role }: Ordered): number => {
    if (role === "controlplane") return 0;
    const place = first.indexOf(name);
    return 1 + (place === -1 ? first.length : place);
  };
  return [...machines].sort(
    (a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  );
}

/**
 * Greatest number of workers that are upgraded at the same time. A percentage means a share of all workers, rounded
 * down like `maxUnavailable` of a Deployment (kubernetes, pkg/controller/deployment/util, ResolveFenceposts), but at
 * least one.
 */
export function parallelUpgradesOf(
  maxParallel: UpgradeSpec["maxParallel"],
  workers: number,
): number {
  const share = typeof maxParallel === "string" ? /^(\d+)%$/.exec(maxParallel)?.[1] : undefined;
  const window = share === undefined ? Number(maxParallel ?? 1) : (workers * Number(share)) / 100;
  return Math.max(1, Math.floor(window) || 1);
}

/**
 * For each machine, the machines that must be complete before its upgrade starts. Control planes and the workers of
 * `upgrade.first` each wait for the machine before them. Each of the other workers waits for the worker `maxParallel`
 * places before it. The first `maxParallel` of these workers wait for the last control plane or worker of
 * `upgrade.first`.
 *
 * @param ordered machines in upgrade order.
 */
export function upgradeDependencies(
  ordered: Ordered[],
  { maxParallel, first = [] }: Pick<UpgradeSpec, "maxParallel" | "first"> = {},
): Record<string, string[]> {
  const oneByOne = ordered.filter(
    ({ name, role }) => role === "controlplane" || first.includes(name),
  );
  const together = ordered.filter((machine) => !oneByOne.includes(machine));
  const window = parallelUpgradesOf(
    maxParallel,
    ordered.filter(({ role }) => role === "worker").length,
  );
  const names = (...machines: (Ordered | undefined)[]): string[] =>
    machines.flatMap((machine) => (machine ? [machine.name] : []));
  return Object.fromEntries([
    ...oneByOne.map((machine, index) => [machine.name, names(oneByOne[index - 1])]),
    ...together.map((machine, index) => [
      machine.name,
      names(index < window ? oneByOne.at(-1) : together[index - window]),
    ]),
  ]) as Record<string, string[]>;
}

/**
 * Machines in two stages. If the stack sets `upgrade.first`, the first stage has the workers in this list and the
 * control planes. The update installs the GPU provider after the first stage, and starts the second stage once the
 * smoke tests of these workers have passed. If the stack does not set `upgrade.first`, all machines are in the first
 * stage.
 *
 * @param ordered machines in upgrade order.
 */
export function upgradeStages<M extends Ordered>(
  ordered: M[],
  { first = [] }: Pick<UpgradeSpec, "first"> = {},
): { ahead: M[]; rest: M[] } {
  if (first.length === 0) return { ahead: ordered, rest: [] };
  const isAhead = ({ name, role }: M): boolean => role === "controlplane" || first.includes(name);
  return { ahead: ordered.filter(isAhead), rest: ordered.filter((machine) => !isAhead(machine)) };
}
