import { z } from "zod";
import type { ClusterSpec } from "./spec/index";
import { specSchema } from "./spec-schema";
import { didYouMean } from "./suggest";
import type { Finding } from "../types";
import { isRecord } from "../machine/user-patches";

/** Name of the check that is about names, types and notations. */
const shapeCheck = "shape";

type Path = PropertyKey[];

/** A stack as far as it could be read. */
export interface ReadSpec {
  /** The stack; where its shape is wrong, without what is wrong. Undefined when nothing sensible is left. */
  spec?: ClusterSpec;
  findings: Finding[];
  /** Fields that were left out or filled in to get there. */
  pruned: string[];
}

/** Reads a stack. Every mistake of shape is a finding; `spec` is there only when there is none. Never throws. */
export function parseSpec(raw: unknown): { spec?: ClusterSpec; findings: Finding[] } {
  const read = readSpec(raw);
  return read.findings.length === 0 && read.spec ? { spec: read.spec, findings: [] } : { findings: read.findings };
}

/** Reads a stack, going on past mistakes of shape so that the checks can look at the rest. */
export function readSpec(raw: unknown): ReadSpec {
  const first = specSchema.safeParse(raw);
  if (first.success) return { spec: first.data as ClusterSpec, findings: [], pruned: [] };
  const findings = first.error.issues.flatMap((issue) => findingsOf(issue, raw));
  const pruned: string[] = [];
  let rest: unknown = structuredClone(raw);
  for (let round = 0; round < 8 && isRecord(rest); round++) {
    const attempt = specSchema.safeParse(rest);
    if (attempt.success) return { spec: attempt.data as ClusterSpec, findings, pruned };
    for (const issue of attempt.error.issues) {
      const paths = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
      for (const path of paths) pruned.push(fieldOf(repair(rest, path)));
    }
    rest = compact(rest);
  }
  return { findings, pruned };
}

/** What takes the place of a required field, so that the rest of what it belongs to can be checked. Nothing is said about the field itself. */
const placeholders: [RegExp, (path: Path) => string][] = [
  [/^machines\.[^.]+\.address$/, (path) => String(path[1])],
  [/^machines\.[^.]+\.role$/, () => "worker"],
  [/^machines\.[^.]+\.configuration$/, () => "adopted"],
  [/^(gpuOperator|devicePlugin)\.version$/, () => "999.0.0"],
];

/** Takes a wrong value away, or what cannot be without it; gives the path of what was touched. */
function repair(root: unknown, path: Path): Path {
  const parent = path.slice(0, -1).reduce<any>((value, key) => value?.[key], root);
  const last = path.at(-1);
  if (last === undefined) return path;
  const placeholder = placeholders.find(([pattern]) => pattern.test(path.join(".")))?.[1];
  if (placeholder && parent && typeof parent === "object") parent[last] = placeholder(path);
  else if (parent && typeof parent === "object" && parent[last] !== undefined) parent[last] = undefined;
  else return repair(root, path.slice(0, -1));
  return path;
}

function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== undefined).map(compact);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .map(([key, child]) => [key, compact(child)]),
  );
}

/** Path as users write it, e.g. `machines.gpu-1.gpus[0].model`; `stack` for the whole. */
export function fieldOf(path: Path): string {
  const text = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return text.replace(/^\./, "") || "stack";
}

const notations: Record<string, { problem: string; remedy: string }> = {
  duration: { problem: "is not a duration", remedy: "write hours, minutes and seconds, e.g. `10m`, `90s` or `1h30m`" },
  quantity: { problem: "is not an amount of storage", remedy: "write a Kubernetes quantity, e.g. `100Gi`" },
  name: { problem: "is not a Kubernetes name", remedy: "use lower-case letters, digits and `-`, e.g. `gpu-operator`" },
  url: { problem: "is not a URL", remedy: "write it with its scheme, e.g. `https://10.0.10.10:6443`" },
};

function findingsOf(issue: z.core.$ZodIssue, raw: unknown): Finding[] {
  const field = fieldOf(issue.path);
  const value = issue.path.reduce<any>((current, key) => current?.[key], raw);
  const finding = (problem: string, why: string, remedy: string, at = field): Finding => ({
    check: shapeCheck,
    field: at,
    problem,
    why,
    remedy,
  });
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(issue.path);
      return issue.keys.map((key) =>
        finding(
          "there is no such field",
          "it would be ignored, and what it was meant to say with it",
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
          ? `quote it: "${String(value)}"`
          : `write ${described(issue.expected)}`;
      return [
        finding(
          `is ${described(kindOf(value))} but must be ${described(issue.expected)}`,
          "YAML reads it differently from what is meant",
          quoted,
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
          `"${String(value)}" is not one of ${words.join(", ")}`,
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
    default: {
      const notation = notations[issue.message];
      if (notation)
        return [
          finding(`"${String(value)}" ${notation.problem}`, "it could not be handed on as it stands", notation.remedy),
        ];
      return [finding(issue.message, "the value could not be read", "correct it")];
    }
  }
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function described(kind: string): string {
  const words: Record<string, string> = {
    array: "a list",
    object: "a mapping",
    record: "a mapping",
    string: "text",
    boolean: "true or false",
    number: "a number",
    int: "a whole number",
    null: "empty",
  };
  return words[kind] ?? kind;
}

/** Fields that the schema knows at a path. */
function keysAt(path: Path): string[] {
  let schema: any = specSchema;
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
