import * as z from "zod";
import { shown, type Fault } from "../rules";
import type { Finding } from "../types";
import { childAt, fieldOf } from "./plain-data";
import { didYouMean } from "../rules/suggest";

/** What to say of an issue. `schema` is what `raw` was read by. */
export function shapeFindings(issue: z.core.$ZodIssue, raw: unknown, schema: z.ZodType): Finding[] {
  const field = fieldOf(issue.path);
  const value = issue.path.reduce<any>(childAt, raw);
  const finding = (problem: string, why: string, remedy: string, at = field): Finding => ({
    check: "shape",
    field: at,
    problem,
    why,
    remedy,
  });
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(schema, issue.path);
      return issue.keys.map((key) =>
        finding(
          "there is no such field",
          "it would be ignored, and so would what it was meant to say",
          `${didYouMean(key, known)}known here: ${known.join(", ")}`,
          fieldOf([...issue.path, key]),
        ),
      );
    }
    case "invalid_type": {
      if (value === undefined)
        return [finding("is missing", "nothing can be planned without it", `add it (${described(issue.expected)})`)];
      const quoted =
        issue.expected === "string" && typeof value !== "object"
          ? `quote it: ${shown(String(value))}`
          : `write ${described(issue.expected)}`;
      return [
        finding(
          `is ${described(kindOf(value))} but must be ${described(issue.expected)}`,
          "YAML reads it as something other than what is meant",
          quoted,
        ),
      ];
    }
    case "invalid_union": {
      const kinds = issue.errors.flatMap((one) =>
        one.flatMap((inner) => ("expected" in inner ? [inner.expected] : [])),
      );
      const must = [...new Set(kinds)].map(described).join(" or ");
      return [
        finding(
          `is ${described(kindOf(value))} but must be ${must}`,
          "YAML reads it as something other than what is meant",
          `write ${must}`,
        ),
      ];
    }
    case "invalid_value": {
      if (value === undefined)
        return [
          finding("is missing", "nothing can be planned without it", `add it: one of ${issue.values.join(", ")}`),
        ];
      const words = issue.values.map(String);
      return [
        finding(
          `${shown(String(value))} is not one of ${words.join(", ")}`,
          "no other value has a meaning",
          `${didYouMean(String(value), words)}write one of them`,
        ),
      ];
    }
    case "too_small":
      if (typeof value === "string")
        return [finding("is empty", "nothing can be planned without it", "write a value or leave the field out")];
      return [
        finding(
          `is ${String(value)} but must be at least ${String(issue.minimum)}`,
          "less has no meaning",
          `write ${String(issue.minimum)} or more, or leave the field out`,
        ),
      ];
    case "too_big":
      return [
        finding(
          `is ${String(value)} but must be at most ${String(issue.maximum)}`,
          "a larger number cannot be handed on",
          `write ${String(issue.maximum)} or less`,
        ),
      ];
    default: {
      // A rule's own words come with the issue (spec-schema.ts).
      const fault = (issue as { params?: Partial<Fault> }).params;
      if (fault?.problem !== undefined && fault.why !== undefined && fault.remedy !== undefined)
        return [finding(fault.problem, fault.why, fault.remedy)];
      return [finding(issue.message, "the value could not be read", "correct it")];
    }
  }
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function described(kind: string): string {
  const words = new Map(
    Object.entries({
      array: "a list",
      object: "a mapping",
      record: "a mapping",
      string: "text",
      boolean: "true or false",
      number: "a number",
      int: "a whole number",
      null: "empty",
    }),
  );
  return words.get(kind) ?? kind;
}

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
