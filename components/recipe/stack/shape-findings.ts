import { anyText } from "../mapping";
import * as z from "zod";
import { didYouMean, type FindingText, shown } from "../rules";
import type { Finding } from "../types";
import { childAt, fieldOf } from "./plain-data";

/**
 * Findings for an issue of zod: one for each unknown field; exactly one for any other issue. `schema` describes `raw`.
 */
export function shapeFindings(issue: z.core.$ZodIssue, raw: unknown, schema: z.ZodType): Finding[] {
  if (issue.code === "unrecognized_keys") {
    const knownKeys = keysAt(schema, issue.path);
    return issue.keys.map((key) => ({
      check: "shape",
      field: fieldOf([...issue.path, key]),
      problem: "is not a known field",
      why: "the package would ignore it",
      remedy: didYouMean(key, knownKeys).trim() || `known fields: ${knownKeys.join(", ")}`,
    }));
  }
  const value = issue.path.reduce<any>(childAt, raw);
  return [{ check: "shape", field: fieldOf(issue.path), ...findingTextOf(issue, value) }];
}

function findingTextOf(issue: z.core.$ZodIssue, value: any): FindingText {
  switch (issue.code) {
    case "invalid_type": {
      const wantedType = described(issue.expected);
      if (value === undefined)
        return {
          problem: "is missing",
          why: "the plan needs it",
          remedy: `add it (${wantedType})`,
        };
      const isUnquoted = issue.expected === "string" && typeof value !== "object";
      const remedy = isUnquoted ? `quote it: ${shown(anyText(value))}` : `write ${wantedType}`;
      return {
        problem: `is ${described(kindOf(value))} but must be ${wantedType}`,
        why: "in YAML this value has another type than the field needs",
        remedy,
      };
    }
    case "invalid_union": {
      const kinds = issue.errors
        .flat()
        .flatMap((inner) => ("expected" in inner ? [inner.expected] : []));
      const wantedTypes = [...new Set(kinds)].map(described).join(" or ");
      return {
        problem: `is ${described(kindOf(value))} but must be ${wantedTypes}`,
        why: "in YAML this value has another type than the field needs",
        remedy: `write ${wantedTypes}`,
      };
    }
    case "invalid_value": {
      const allowed = issue.values.map(String);
      if (value === undefined)
        return {
          problem: "is missing",
          why: "the plan needs it",
          remedy: `add it: one of ${allowed.join(", ")}`,
        };
      const text = anyText(value);
      return {
        problem: `${shown(text)} is not one of ${allowed.join(", ")}`,
        why: "the field accepts no other value",
        remedy: `${didYouMean(text, allowed)}write one of them`,
      };
    }
    case "too_small": {
      if (typeof value === "string")
        return {
          problem: "is empty",
          why: "the plan needs it",
          remedy: "write a value or leave the field out",
        };
      return issue.inclusive === false
        ? {
            problem: `is ${anyText(value)} but must be more than ${issue.minimum}`,
            why: "the field accepts only larger numbers",
            remedy: `write more than ${issue.minimum}, or leave the field out`,
          }
        : {
            problem: `is ${anyText(value)} but must be at least ${issue.minimum}`,
            why: "the field accepts no smaller number",
            remedy: `write ${issue.minimum} or more, or leave the field out`,
          };
    }
    case "too_big":
      return {
        problem: `is ${anyText(value)} but must be at most ${issue.maximum}`,
        why: "the field accepts no larger number",
        remedy: `write ${issue.maximum} or less`,
      };
    default: {
      // The issue carries the texts of the rule (notation.ts).
      const { problem, why, remedy } = (issue as { params?: Partial<FindingText> }).params ?? {};
      return {
        problem: problem ?? issue.message,
        why: why ?? "the value could not be read",
        remedy: remedy ?? "correct it",
      };
    }
  }
}

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

const kinds: Readonly<Record<string, string>> = {
  array: "a list",
  object: "a mapping",
  record: "a mapping",
  string: "text",
  null: "empty",
  boolean: "true or false",
  number: "a number",
  int: "a whole number",
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

const unwrap = (schema: unknown): unknown =>
  schema instanceof z.ZodOptional ? unwrap(schema.unwrap()) : schema;
