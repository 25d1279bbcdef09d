import type { ChartValues } from "../../components/recipe/facts/data/charts";

/** A JSON schema. */
export type JsonSchema = Record<string, unknown>;

interface Branch {
  [key: string]: Branch | string;
}

/**
 * Schema of a chart's values: which names there are. Real charts come without one, so that a misspelt value is ignored in
 * silence; here it is an error. Types stay open but for sections: Helm's templates print whatever they are given.
 */
export function valuesSchema({ paths, subcharts }: Pick<ChartValues, "paths" | "subcharts">): JsonSchema {
  const root: Branch = {};
  // Shorter paths first: what is taken as a whole is open below.
  for (const path of Object.keys(paths).sort()) add(root, path.split("."), paths[path] ?? "any");
  const top = section(root);
  // A subchart has values of its own, which the parent does not know; `global` is for all.
  const open = Object.fromEntries([...subcharts, "global"].map((name) => [name, {}]));
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...top,
    properties: { ...(top["properties"] as JsonSchema), ...open },
  };
}

function add(branch: Branch, [key = "", ...rest]: string[], type: string): void {
  if (rest.length === 0) {
    branch[key] ??= type;
    return;
  }
  const below = (branch[key] ??= {});
  if (typeof below !== "string") add(below, rest, type);
}

function section(branch: Branch): JsonSchema {
  return {
    type: ["object", "null"],
    additionalProperties: false,
    properties: Object.fromEntries(
      Object.entries(branch).map(([key, below]) => [key, typeof below === "string" ? {} : section(below)]),
    ),
  };
}
