import { type FindingText, shown } from "../rules/finding";
import { writePath } from "../shape";
import type { Finding } from "../types";

/**
 * Limits on a stack's nesting and on the number of its values, far above those of a stack with ten thousand machines.
 */
const deepest = 64;
const mostValues = 1_000_000;
/** Longest key and longest text (Talos' own limit for a configuration is 4 MiB). */
const longestKey = 320;
const longestText = 1024 * 1024;

/**
 * Copies a value from outside as plain data. The copy lacks values that are unreadable, too long, too deeply nested, or
 * not plain data. A finding reports each omission. So later code gets a tree of bounded size.
 *
 * @returns `value` as plain data. The keys of every mapping are sorted, because their order has no meaning.
 *   `leftOutPaths` are the paths of the values that are left out.
 */
export function readPlain(raw: unknown): {
  value: unknown;
  findings: Finding[];
  leftOutPaths: PropertyKey[][];
} {
  const findings: Finding[] = [];
  const leftOutPaths: PropertyKey[][] = [];
  const ancestors = new Set<object>();
  let count = 0;

  const leaveOut = (path: PropertyKey[], finding: FindingText): undefined => {
    // A user needs no more than the first hundred findings.
    if (findings.length < 100) findings.push({ check: "shape", field: fieldOf(path), ...finding });
    leftOutPaths.push(path);
    return undefined;
  };
  const read = (value: unknown, path: PropertyKey[]): unknown => {
    if (++count > mostValues)
      return count === mostValues + 1
        ? leaveOut(path, {
            problem: "has too many values",
            why: "no stack is that large",
            remedy: "remove repeated parts",
          })
        : undefined;
    const finding = unreadable(value, path, ancestors);
    if (finding) return leaveOut(path, finding);
    if (typeof value !== "object" || value === null) return value;
    ancestors.add(value);
    const copy = Array.isArray(value)
      ? Array.from(value, (item, index) => read(item, [...path, index])).filter(
          (item, index) => item !== undefined || value[index] === undefined,
        )
      : readMapping(value as Record<string, unknown>, path);
    ancestors.delete(value);
    return copy;
  };
  const readMapping = (
    value: Record<string, unknown>,
    path: PropertyKey[],
  ): Record<string, unknown> => {
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(value).sort()) {
      const keyPath = [...path, key];
      const tooLong = key.length > longestKey && {
        problem: `is longer than ${longestKey} characters`,
        why: "no name is that long",
        remedy: "write a shorter one",
      };
      const finding =
        key === "__proto__"
          ? {
              problem: "cannot be a key",
              why: "JavaScript gives this key a special meaning",
              remedy: "write another one",
            }
          : tooLong;
      const child = finding ? leaveOut(keyPath, finding) : read(value[key], keyPath);
      if (child !== undefined) copy[key] = child;
    }
    return copy;
  };
  return { value: read(raw, []), findings, leftOutPaths };
}

function unreadable(
  value: unknown,
  path: PropertyKey[],
  ancestors: Set<object>,
): FindingText | undefined {
  if (typeof value === "string") return unreadableText(value);
  if (typeof value === "number" && !Number.isFinite(value))
    return {
      problem: `is ${value}`,
      why: "Pulumi stores the stack as JSON, which has no such number",
      remedy: "write a number, or leave the field out",
    };
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function")
    return {
      problem: `is a ${typeof value}`,
      why: "a stack must be plain data, which Pulumi can compare and store",
      remedy: "write text, a number, a list or a mapping",
    };
  if (typeof value !== "object" || value === null) return undefined;
  const { then, __pulumiOutput, __pulumiResource } = value as Record<string, unknown>;
  if (__pulumiOutput === true || __pulumiResource === true || typeof then === "function") {
    const kind = __pulumiResource === true ? "a resource" : "a Promise";
    return {
      problem: `is ${__pulumiOutput === true ? "an Output" : kind}, not plain data`,
      why: "the checks need the value at preview, when an Output may not be known yet",
      remedy:
        "pass plain data, e.g. from the stack's configuration. Only fields of the type Input accept an Output",
    };
  }
  if (ancestors.has(value))
    return {
      problem: "contains itself",
      why: "the checks would never end",
      remedy: "leave the reference out",
    };
  if (path.length > deepest)
    return {
      problem: `is nested deeper than ${deepest} levels`,
      why: "no field is that deep",
      remedy: "leave it out",
    };
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  return kind === "Object" || kind === "Array"
    ? undefined
    : {
        problem: `is a ${kind}`,
        why: "a stack must be plain data, which Pulumi can compare and store",
        remedy: "write text, a number, a list or a mapping",
      };
}

// eslint-disable-next-line no-control-regex -- the expression looks for control characters, except tab and line ends
const controls = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

function unreadableText(text: string): FindingText | undefined {
  if (text.length > longestText)
    return {
      problem: `is longer than ${longestText} characters`,
      why: "Talos and Kubernetes accept no text of that length",
      remedy: "write a shorter one",
    };
  const unreadablePart =
    controls.exec(text)?.[0] ?? (/\p{Surrogate}/u.test(text) ? "an unpaired surrogate" : undefined);
  if (unreadablePart === undefined) return undefined;
  const description = unreadablePart.length > 1 ? unreadablePart : "a control character";
  return {
    problem: `${shown(text)} contains ${description}`,
    why: "neither YAML nor Kubernetes accepts it",
    remedy: "leave it out",
  };
}

/** Number of characters after which a message cuts a key of a path. */
const shownPart = 100;

/** Path in the notation of users, e.g. `machines.gpu-1.gpus[0].model`; `stack` for the whole stack. */
export const fieldOf = (path: PropertyKey[]): string => writePath(path, cut) || "stack";

const cut = (part: string): string =>
  part.length > shownPart ? `${part.slice(0, shownPart)}…` : part;

/** The value at a key of a list or mapping; undefined if it is missing. Inherited properties count as missing. */
export const childAt = (value: any, key: PropertyKey): any =>
  value !== null && value !== undefined && Object.hasOwn(Object(value) as object, key)
    ? value[key]
    : undefined;
