import fc from "fast-check";
import {
  inUpgradeOrder,
  upgradeStages,
  upgradeDependencies,
  parallelUpgradesOf,
  type Ordered,
} from "../../../components/recipe/machine/order";

const machinesInOrder = (controlPlanes: number, workers: number): Ordered[] =>
  inUpgradeOrder([
    ...Array.from({ length: workers }, (_, index): Ordered => ({
      name: `w${index}`,
      role: "worker",
    })),
    ...Array.from({ length: controlPlanes }, (_, index): Ordered => ({
      name: `c${index}`,
      role: "controlplane",
    })),
  ]);

test("control planes are upgraded one at a time, then at most maxParallel workers at a time", () => {
  expect(upgradeDependencies(machinesInOrder(3, 5), { maxParallel: 2 })).toEqual({
    c0: [],
    c1: ["c0"],
    c2: ["c1"],
    w0: ["c2"],
    w1: ["c2"],
    w2: ["w0"],
    w3: ["w1"],
    w4: ["w2"],
  });
});

test("without control planes the first workers wait for no machine", () => {
  expect(upgradeDependencies(machinesInOrder(0, 3))).toEqual({ w0: [], w1: ["w0"], w2: ["w1"] });
});

/** The step in which each machine is upgraded, if each upgrade takes one step. */
function stepsByMachine(predecessors: Record<string, string[]>): Map<string, number> {
  const steps = new Map<string, number>();
  const stepOf = (name: string): number => {
    const knownStep = steps.get(name);
    if (knownStep !== undefined) return knownStep;
    const step = 1 + Math.max(0, ...(predecessors[name] ?? []).map(stepOf));
    steps.set(name, step);
    return step;
  };
  for (const name of Object.keys(predecessors)) stepOf(name);
  return steps;
}

test("every step upgrades one control plane or at most maxParallel workers, and there are as few steps as possible", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5 }),
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 1, max: 9 }),
      (controlPlanes, workers, maxParallel) => {
        const windows = upgradeDependencies(machinesInOrder(controlPlanes, workers), {
          maxParallel,
        });
        expect(Object.keys(windows)).toHaveLength(controlPlanes + workers);
        const steps = stepsByMachine(windows);
        expect(Math.max(0, ...steps.values())).toBe(
          controlPlanes + Math.ceil(workers / maxParallel),
        );
        for (const step of new Set(steps.values())) {
          const names = Object.keys(windows).filter((name) => steps.get(name) === step);
          const hasControlPlane = names.some((name) => name.startsWith("c"));
          expect(names.length).toBeLessThanOrEqual(hasControlPlane ? 1 : maxParallel);
        }
      },
    ),
  );
});

test("workers of upgrade.first are upgraded one at a time, in order, before all other workers", () => {
  const first = ["w3", "w1"];
  const ordered = inUpgradeOrder(machinesInOrder(2, 6), first);
  expect(ordered.map(({ name }) => name)).toEqual(["c0", "c1", "w3", "w1", "w0", "w2", "w4", "w5"]);
  expect(upgradeDependencies(ordered, { first, maxParallel: 3 })).toEqual({
    c0: [],
    c1: ["c0"],
    w3: ["c1"],
    w1: ["w3"],
    w0: ["w1"],
    w2: ["w1"],
    w4: ["w1"],
    w5: ["w0"],
  });
});

test("upgradeStages puts control planes and workers of upgrade.first before all other workers", () => {
  const first = ["w3", "w1"];
  const ordered = inUpgradeOrder(machinesInOrder(2, 6), first);
  const { ahead, rest } = upgradeStages(ordered, { first });
  expect(ahead.map(({ name }) => name)).toEqual(["c0", "c1", "w3", "w1"]);
  expect(rest.map(({ name }) => name)).toEqual(["w0", "w2", "w4", "w5"]);
  expect(upgradeStages(ordered, { first: [] })).toEqual({ ahead: ordered, rest: [] });
});

test("without maxParallel, workers are upgraded one at a time", () => {
  expect(parallelUpgradesOf(undefined, 12)).toBe(1);
});

test.each<[maxParallel: unknown, workers: number, window: number]>([
  [4, 12, 4],
  ["25%", 12, 3],
  ["25%", 11, 2],
  ["25%", 3, 1],
  ["1%", 0, 1],
  ["100%", 7, 7],
])("maxParallel %s lets %i workers be upgraded %i at a time", (maxParallel, workers, window) => {
  expect(parallelUpgradesOf(maxParallel, workers)).toBe(window);
});
