import * as z from "zod";
import { shown, type Fault } from "../rules";
import type { Finding } from "../types";
import { childAt, fieldOf } from "./plain-data";
import { didYouMean } from "../rules/suggest";

const nothing = "nothing can be planned without it";
const misread = "YAML reads it as something other than what is meant";

/** What to say of an issue. `schema` is what `raw` was read by. */
export function shapeFindings(issue: z.core.$ZodIssue, raw: unknown, schema: z.ZodType): Finding[] {
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => ({
      check: "shape",
      field: fieldOf([...issue.path, key]),
      problem: "there is no such field",
      why: "it would be ignored, and so would what it was meant to say",
      remedy: didYouMean(key, known).trim() || `known here: ${known.join(", ")}`,
    }));
  }
  const value = issue.path.reduce<any>(childAt, raw);
  const [problem, why, remedy] = wordsOf(issue, value);
  return [{ check: "shape", field: fieldOf(issue.path), problem, why, remedy }];
}

function wordsOf(issue: z.core.$ZodIssue, value: any): [problem: string, why: string, remedy: string] {
  switch (issue.code) {
    case "invalid_type": {
      const wanted = described(issue.expected);
      if (value === undefined) return ["is missing", nothing, `add it (${wanted})`];
      const isUnquoted = issue.expected === "string" && typeof value !== "object";
      const remedy = isUnquoted ? `quote it: ${shown(String(value))}` : `write ${wanted}`;
      return [`is ${described(kindOf(value))} but must be ${wanted}`, misread, remedy];
    }
    case "invalid_union": {
      const kinds = issue.errors.flat().flatMap((inner) => ("expected" in inner ? [inner.expected] : []));
      const must = [...new Set(kinds)].map(described).join(" or ");
      return [`is ${described(kindOf(value))} but must be ${must}`, misread, `write ${must}`];
    }
    case "invalid_value": {
      const words = issue.values.map(String);
      if (value === undefined) return ["is missing", nothing, `add it: one of ${words.join(", ")}`];
      return [
        `${shown(String(value))} is not one of ${words.join(", ")}`,
        "no other value has a meaning",
        `${didYouMean(String(value), words)}write one of them`,
      ];
    }
    case "too_small": {
      if (typeof value === "string") return ["is empty", nothing, "write a value or leave the field out"];
      const least = String(issue.minimum);
      const remedy = `write ${least} or more, or leave the field out`;
      return [`is ${String(value)} but must be at least ${least}`, "less has no meaning", remedy];
    }
    case "too_big": {
      const most = String(issue.maximum);
      const problem = `is ${String(value)} but must be at most ${most}`;
      return [problem, "a larger number cannot be handed on", `write ${most} or less`];
    }
    default: {
      // A rule's own words come with the issue (notation.ts).
      const { problem, why, remedy } = (issue as { params?: Partial<Fault> }).params ?? {};
      return [problem ?? issue.message, why ?? "the value could not be read", remedy ?? "correct it"];
    }
  }
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

const kinds: Readonly<Record<string, string>> = {
  ...{ array: "a list", object: "a mapping", record: "a mapping", string: "text", null: "empty" },
  ...{ boolean: "true or false", number: "a number", int: "a whole number" },
};

const described = (kind: string): string => kinds[kind] ?? kind;

/** Fields that the schema knows at a path. */
function keysAt(root: z.ZodType, path: PropertyKey[]): string[] {
  let schema: any = root;
  for (const part of path) {
    schema = unwrap(schema);
    if (schema instanceof z.ZodObject) schema = schema.shape[part as string];
    else if (schema instanceof z.ZodRecord) schema = schema.valueType;
    else if (schema instanceof z.ZodArray) schema = schema.element;
  }
  schema = unwrap(schema);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap()) : schema;
}
