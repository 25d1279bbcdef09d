import * as fc from "fast-check";
import { findingsOf, planCluster, renderFindings, type ClusterSpec } from "../../components/recipe";
import { validStack, validStackNames } from "../recipe/stacks";

/** The same data with the keys of every mapping in another order. */
function withShuffledKeys(value: unknown, nextNumber: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => withShuffledKeys(item, nextNumber));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, child]) => ({
        position: nextNumber(),
        entry: [key, withShuffledKeys(child, nextNumber)] as const,
      }))
      .sort((first, second) => first.position - second.position)
      .map(({ entry }) => entry),
  );
}

/** The paths of a value and of everything in it. */
function paths(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, child]) => paths(child, [...path, key]))];
}

/** A copy with another value at a path. */
function withValueAt(
  value: unknown,
  [key, ...rest]: (string | number)[],
  newValue: unknown,
): unknown {
  if (key === undefined) return newValue;
  const copy = (
    Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  ) as Record<string, unknown>;
  copy[key] = withValueAt(copy[key], rest, newValue);
  return copy;
}

const stacks = validStackNames().map((name) => validStack(name));
const unusualValue = fc.oneof(
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
      unusualValue,
      (stack, numbers, value) => {
        const allPaths = paths(stack);
        const path = allPaths[(numbers.next().value as number) % allPaths.length] ?? [];
        renderFindings(findingsOf(withValueAt(stack, path, value)));
      },
    ),
    { numRuns: 400 },
  );
});

test("a mapping that cannot be converted to text does not make the checks throw in any field", () => {
  // Equal for the same field of different machines, and for different items of a list.
  const signatureOf = (path: (string | number)[]): string =>
    path
      .map((key, index) => (path[index - 1] === "machines" || !isNaN(Number(key)) ? "*" : key))
      .join(".");
  const triedSignatures = new Set<string>();
  for (const stack of stacks)
    for (const path of paths(stack)) {
      if (triedSignatures.has(signatureOf(path))) continue;
      triedSignatures.add(signatureOf(path));
      renderFindings(findingsOf(withValueAt(stack, path, { toString: 1, valueOf: 1 })));
    }
  expect(triedSignatures.size).toBeGreaterThan(100);
});

test("no value in place of a stack makes the checks throw", () => {
  fc.assert(
    fc.property(unusualValue, (value) => {
      expect(findingsOf(value).length).toBeGreaterThan(0);
    }),
    { numRuns: 100 },
  );
});

test("the plan and the findings do not depend on the order of keys", () => {
  fc.assert(
    fc.property(fc.constantFrom(...stacks), fc.infiniteStream(fc.nat()), (stack, numbers) => {
      const shuffledStack = withShuffledKeys(
        stack,
        () => numbers.next().value as number,
      ) as ClusterSpec;
      expect(JSON.stringify(planCluster(shuffledStack))).toBe(JSON.stringify(planCluster(stack)));
      expect(JSON.stringify(findingsOf(shuffledStack))).toBe(JSON.stringify(findingsOf(stack)));
    }),
    { numRuns: 60 },
  );
});

describe("a large stack", () => {
  const machinesNamedByNumber = (count: number): object =>
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
    expect(findingsOf({ ...stack, machines: machinesNamedByNumber(10_000) })).toEqual([]);
    const sameMachine = Object.values(machinesNamedByNumber(2))[1];
    const machinesWithOneAddress = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`gpu-${index}`, sameMachine]),
    );
    expect(findingsOf({ ...stack, machines: machinesWithOneAddress })).toHaveLength(9_999);
  });

  test("causes findings for a name of 100 kB, deep nesting and a mapping that contains itself", () => {
    const longText = "x".repeat(100_000);
    expect(
      findingsOf({
        ...stack,
        [longText]: 1,
        machines: { [longText]: { [longText]: longText } },
        talosVersion: longText,
      }).length,
    ).toBeGreaterThan(1);
    let nestedMapping: unknown = {};
    for (let level = 0; level < 100_000; level++) nestedMapping = { deep: nestedMapping };
    expect(
      findingsOf({
        ...stack,
        machines: machinesNamedByNumber(1),
        gpuOperator: { version: "v26.3.3", values: nestedMapping },
      })[0]?.problem,
    ).toContain("deeper");
    const cyclicStack: Record<string, unknown> = { ...stack };
    cyclicStack["machines"] = cyclicStack;
    expect(findingsOf(cyclicStack)[0]?.problem).toBe("contains itself");
  });
});
