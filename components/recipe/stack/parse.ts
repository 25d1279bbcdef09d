import type { z } from "zod";
import { expandStack } from "./pools";
import type { ClusterSpec, StackSpec } from "../spec/index";
import { specSchema } from "./spec-schema";
import { gpuProviderFields } from "../facts/gpu-provider";
import type { Finding } from "../types";
import { childAt, fieldOf, readPlain } from "./plain-data";
import { shapeFindings } from "./shape-findings";
import { isMapping } from "../mapping";

type Path = PropertyKey[];

/** Result of reading data by a schema. */
export interface ReadData<T> {
  /** The data without the values that do not fit the schema. Undefined if nothing useful is left. */
  spec?: T;
  findings: Finding[];
  /** Paths of the fields that were left out, or filled in with a placeholder, because of mistakes. */
  pruned: string[];
}

/** Result of reading a stack: `spec` contains the machines of all pools. */
export interface ReadStack extends ReadData<ClusterSpec> {
  /** Name of the machine's pool, by node name, for the machines that a pool describes. */
  poolOf: Map<string, string>;
  /** The stack before its pools and defaults were applied. */
  written?: StackSpec;
}

/**
 * Reads a stack. Every value that does not fit the schema is a finding; `spec` is set only if there are no findings.
 * Never throws.
 */
export function parseSpec(raw: unknown): { spec?: ClusterSpec; findings: Finding[] } {
  const read = readSpec(raw);
  return read.findings.length === 0 && read.spec
    ? { spec: read.spec, findings: [] }
    : { findings: read.findings };
}

/**
 * Reads a stack and turns its pools into machines. Values that do not fit the schema are left out, so that the checks
 * can run on the other values.
 */
export function readSpec(raw: unknown): ReadStack {
  const { spec, findings, pruned } = readAs(specSchema, raw) as ReadData<StackSpec>;
  if (spec === undefined) return { findings, pruned, poolOf: new Map() };
  const {
    spec: expanded,
    findings: expansionFindings,
    filled: filledFields,
    poolOf,
  } = expandStack(spec);
  const isNew = ({ field }: Finding): boolean => !pruned.includes(field); // everything that was left out is reported
  return {
    spec: expanded,
    findings: [...findings, ...expansionFindings.filter(isNew)],
    pruned: [...pruned, ...filledFields],
    poolOf,
    written: spec,
  };
}

/** Reads data by a schema, and leaves out values that do not fit the schema. The keys of the result are sorted. */
export function readAs<S extends z.ZodType>(schema: S, raw: unknown): ReadData<z.infer<S>> {
  const plain = readPlain(raw);
  const pruned = plain.leftOutPaths.map(fieldOf);
  const first = schema.safeParse(plain.value);
  if (first.success) return { spec: first.data, findings: plain.findings, pruned };
  // Everything that was left out above is reported.
  const isNew = ({ field }: Finding): boolean =>
    !pruned.some((path) => field === path || path === "stack" || path.startsWith(`${field}.`));
  const issues = first.error.issues
    .flatMap((issue) => shapeFindings(issue, plain.value, schema))
    .filter(isNew);
  const findings = [...plain.findings, ...issues];
  let rest: unknown = structuredClone(plain.value);
  for (let round = 0; round < 8 && isMapping(rest); round++) {
    const attempt = schema.safeParse(rest);
    if (attempt.success) return { spec: attempt.data, findings, pruned };
    for (const issue of attempt.error.issues) {
      const paths =
        issue.code === "unrecognized_keys"
          ? issue.keys.map((key) => [...issue.path, key])
          : [issue.path];
      for (const path of paths) pruned.push(fieldOf(repair(rest, path)));
    }
    rest = compact(rest);
  }
  return { findings, pruned };
}

/**
 * Placeholder for a missing required field, so that the checks can run on the other fields. The findings of checks
 * about the placeholder are dropped, because another finding already reports the field as missing.
 */
function placeholderFor([first, second, third]: Path): string | undefined {
  if (first === "machines") return third === "address" ? String(second) : undefined;
  return gpuProviderFields.some((field) => field === first) && second === "version"
    ? "999.0.0"
    : undefined;
}

/**
 * Removes a wrong value. A missing value gets its placeholder; without a placeholder, the object that lacks the value
 * is removed.
 *
 * @returns the path of the value that was removed or filled in.
 */
function repair(root: unknown, path: Path): Path {
  const parent = path.slice(0, -1).reduce<any>(childAt, root);
  const last = path.at(-1);
  if (last === undefined) return path;
  const placeholder = placeholderFor(path);
  if (placeholder !== undefined && parent && typeof parent === "object") parent[last] = placeholder;
  else if (parent && typeof parent === "object" && parent[last] !== undefined)
    parent[last] = undefined;
  else return repair(root, path.slice(0, -1));
  return path;
}

function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== undefined).map(compact);
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .map(([key, child]) => [key, compact(child)]),
  );
}
