import * as fc from "fast-check";
import { findingsOf, planCluster, renderFindings, type ClusterSpec } from "../../components/recipe";
import { validStack, validStackNames } from "../recipe/stacks";

/** The same data with the keys of every mapping in another order. */
function shuffled(value: unknown, next: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, next));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, child]): [number, string, unknown] => [next(), key, shuffled(child, next)])
      .sort(([a], [b]) => a - b)
      .map(([, key, child]): [string, unknown] => [key, child]),
  );
}

/** Every path of a value. */
function paths(value: unknown, at: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, child]) => paths(child, [...at, key]))];
}

function replaced(value: unknown, [key, ...rest]: (string | number)[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (
    Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  ) as Record<string, unknown>;
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

const stacks = validStackNames().map((name) => validStack(name));
const odd = fc.oneof(
  fc.anything({
    maxDepth: 3,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
  }),
  fc.constantFrom(
    "constructor",
    "__proto__",
    "toString",
    "\0",
    "",
    " ",
    "a".repeat(100_000),
    NaN,
    -1,
    1e21,
    null,
    [],
    {},
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
);

test("no value in any field of a stack makes the checks throw or hang", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...stacks),
      fc.infiniteStream(fc.nat()),
      odd,
      (stack, numbers, value) => {
        const all = paths(stack);
        const at = all[(numbers.next().value as number) % all.length] ?? [];
        renderFindings(findingsOf(replaced(stack, at, value)));
      },
    ),
    { numRuns: 400 },
  );
});

test("a mapping that cannot be converted to text does not make the checks throw in any field", () => {
  const signature = (at: (string | number)[]): string =>
    at
      .map((key, index) => (at[index - 1] === "machines" || !isNaN(Number(key)) ? "*" : key))
      .join(".");
  const seen = new Set<string>();
  for (const stack of stacks)
    for (const at of paths(stack).filter((path) => seen.size < seen.add(signature(path)).size))
      renderFindings(findingsOf(replaced(stack, at, { toString: 1, valueOf: 1 })));
  expect(seen.size).toBeGreaterThan(100);
});

test("no value in place of a stack makes the checks throw", () => {
  fc.assert(
    fc.property(odd, (value) => {
      expect(findingsOf(value).length).toBeGreaterThan(0);
    }),
    { numRuns: 100 },
  );
});

test("the plan and the findings do not depend on the order of keys", () => {
  fc.assert(
    fc.property(fc.constantFrom(...stacks), fc.infiniteStream(fc.nat()), (stack, numbers) => {
      const other = shuffled(stack, () => numbers.next().value as number) as ClusterSpec;
      expect(JSON.stringify(planCluster(other))).toBe(JSON.stringify(planCluster(stack)));
      expect(JSON.stringify(findingsOf(other))).toBe(JSON.stringify(findingsOf(stack)));
    }),
    { numRuns: 60 },
  );
});

describe("a large stack", () => {
  const machines = (count: number): object =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `gpu-${index}`,
        {
          address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
          role: "worker",
          configuration: "adopted",
          gpus: [{ model: "RTX 4090" }],
        },
      ]),
    );
  const stack = { talosVersion: "v1.13.9", gpuOperator: { version: "v26.3.3" } };

  test("is checked with 10,000 valid machines and with 10,000 invalid machines", () => {
    expect(findingsOf({ ...stack, machines: machines(10_000) })).toEqual([]);
    const same = Object.values(machines(2))[1];
    const alike = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`gpu-${index}`, same]),
    );
    expect(findingsOf({ ...stack, machines: alike })).toHaveLength(9_999);
  });

  test("causes findings for a name of 100 kB, deep nesting and a mapping that contains itself", () => {
    const long = "x".repeat(100_000);
    expect(
      findingsOf({
        ...stack,
        [long]: 1,
        machines: { [long]: { [long]: long } },
        talosVersion: long,
      }).length,
    ).toBeGreaterThan(1);
    let deep: unknown = {};
    for (let level = 0; level < 100_000; level++) deep = { deep };
    expect(
      findingsOf({
        ...stack,
        machines: machines(1),
        gpuOperator: { version: "v26.3.3", values: deep },
      })[0]?.problem,
    ).toContain("deeper");
    const round: Record<string, unknown> = { ...stack };
    round["machines"] = round;
    expect(findingsOf(round)[0]?.problem).toBe("contains itself");
  });
});
