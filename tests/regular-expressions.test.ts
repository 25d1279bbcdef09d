import schema from "../components/recipe/facts/data/talos-schema.json";
import {
  regularExpressionsIn,
  growthOf,
  allowedGrowth,
  sourcesBelow,
} from "./support/regexp/sources";

const files = sourcesBelow("components", "cli", "stacks", "policy").map(regularExpressionsIn);
const allExpressions = files.flatMap(({ expressions }) => expressions);

/** Patterns of Talos' schema, which the check of patches applies to texts of a stack. */
function patternsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) =>
    key === "pattern" && typeof below === "string" ? [below] : patternsIn(below),
  );
}

test("every regular expression is a literal in the sources, except those of Talos' schema", () => {
  expect(allExpressions.length).toBeGreaterThan(300);
  expect(files.flatMap(({ unreadCalls }) => unreadCalls)).toEqual([
    "components/recipe/machine/talos-schema/values.ts",
  ]);
});

test("growthOf distinguishes a regular expression of quadratic cost from a linear one", () => {
  const ratio = (source: string): number => growthOf({ source, flags: "" }).ratio;
  const quadratic = ["\\s+$", "\\$\\{[^}]+\\}", "(a+)+b", "CUDA.*: not", "^\\d+\\.?\\d*$"];
  expect(quadratic.filter((source) => ratio(source) <= allowedGrowth)).toEqual([]);
  const linear = ["^[a-z]+\\d$", "\\$\\{[^}]{1,50}\\}", "(?<!\\s)\\s+$", "^\\d+(\\.\\d*)?$"];
  expect(linear.filter((source) => ratio(source) > allowedGrowth)).toEqual([]);
});

test("no regular expression has a cost that grows with the square of a text's length", () => {
  const schemaExpressions = [...new Set(patternsIn(schema))].map((source) => ({
    place: "talos-schema.json",
    source,
    flags: "u",
  }));
  const slow = [...allExpressions, ...schemaExpressions].flatMap(({ place, source, flags }) => {
    const { ratio, text } = growthOf({ source, flags });
    const message = `${place} /${source}/${flags} ${ratio.toFixed(1)} ${JSON.stringify(text)}`;
    return ratio > allowedGrowth ? [message] : [];
  });
  expect(slow).toEqual([]);
});
