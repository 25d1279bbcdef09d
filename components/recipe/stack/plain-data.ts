import { shown } from "../rules";
import type { Finding } from "../types";

/** What was read of a value that anybody may have given. */
export interface PlainData {
  /** The value as plain data, with the keys of every mapping in order: nothing hangs on the order in which they were written. */
  value: unknown;
  findings: Finding[];
  /** Paths that were left out. */
  left: PropertyKey[][];
}

/** Deepest nesting, and most values: far beyond ten thousand machines. */
const deepest = 64;
const most = 1_000_000;
/** Longest key and longest text (Talos' own limit for a configuration is 4 MiB). */
const longestKey = 320;
const longestText = 1024 * 1024;

/**
 * Reads a value that anybody may have given: what is no plain data, too deep, too long or unreadable is left out and told.
 * Everything that comes after this may take for granted that it looks at a tree of bounded size.
 */
export function readPlain(raw: unknown): PlainData {
  const findings: Finding[] = [];
  const left: PropertyKey[][] = [];
  const above = new Set<object>();
  let count = 0;

  const leaveOut = (path: PropertyKey[], [problem, why, remedy]: Reason): undefined => {
    // One of many alike says it all.
    if (findings.length < 100) findings.push({ check: "shape", field: fieldOf(path), problem, why, remedy });
    left.push(path);
    return undefined;
  };
  const read = (value: unknown, path: PropertyKey[]): unknown => {
    if (++count > most) return count === most + 1 ? leaveOut(path, tooMuch) : undefined;
    const reason = unreadable(value, path, above);
    if (reason) return leaveOut(path, reason);
    if (typeof value !== "object" || value === null) return value;
    above.add(value);
    const copy = Array.isArray(value)
      ? Array.from(value, (item, index) => read(item, [...path, index])).filter(
          (item, index) => item !== undefined || value[index] === undefined,
        )
      : readMapping(value as Record<string, unknown>, path);
    above.delete(value);
    return copy;
  };
  const readMapping = (value: Record<string, unknown>, path: PropertyKey[]): Record<string, unknown> => {
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(value).sort()) {
      const here = [...path, key];
      const reason = key === "__proto__" ? noKey : key.length > longestKey ? longKey : undefined;
      const child = reason ? leaveOut(here, reason) : read(value[key], here);
      if (child !== undefined) copy[key] = child;
    }
    return copy;
  };
  return { value: read(raw, []), findings, left };
}

/** Problem, why it matters, and the remedy. */
type Reason = [string, string, string];

const tooMuch: Reason = ["is larger than what can be read", "no stack is that large", "leave out what is repeated"];
const longKey: Reason = [`is longer than ${longestKey} characters`, "no name is that long", "write a shorter one"];
const noKey: Reason = ["cannot be a key", "JavaScript takes it for something else", "write another one"];

function unreadable(value: unknown, path: PropertyKey[], above: Set<object>): Reason | undefined {
  if (typeof value === "string") return unreadableText(value);
  if (typeof value === "number" && !Number.isFinite(value))
    return [
      `is ${String(value)}`,
      "it is not a number that can be handed on",
      "write a number, or leave the field out",
    ];
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function")
    return [
      `is a ${typeof value}`,
      "a stack is plain data, which is compared and kept",
      "write text, a number, a list or a mapping",
    ];
  if (typeof value !== "object" || value === null) return undefined;
  const { then, __pulumiOutput, __pulumiResource } = value as Record<string, unknown>;
  if (__pulumiOutput === true || __pulumiResource === true || typeof then === "function")
    return [
      `is ${__pulumiOutput === true ? "an Output" : __pulumiResource === true ? "a resource" : "a Promise"}, not plain data`,
      "the checks must see it before anything is made, and at preview its value may not be known",
      "pass plain data, e.g. from the stack's configuration; only what is said to be an input takes an Output",
    ];
  if (above.has(value)) return ["contains itself", "it has no end", "leave the reference out"];
  if (path.length > deepest) return [`is nested deeper than ${deepest}`, "no field is that deep", "leave it out"];
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  return kind === "Object" || kind === "Array"
    ? undefined
    : [
        `is a ${kind}`,
        "a stack is plain data, which is compared and kept",
        "write text, a number, a list or a mapping",
      ];
}

// eslint-disable-next-line no-control-regex -- that is what is looked for; all but tab and line ends
const controls = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

function unreadableText(text: string): Reason | undefined {
  if (text.length > longestText)
    return [
      `is longer than ${longestText} characters`,
      "Talos and Kubernetes take no text that long",
      "write a shorter one",
    ];
  const odd = controls.exec(text)?.[0] ?? (/\p{Surrogate}/u.test(text) ? "half a character" : undefined);
  return odd === undefined
    ? undefined
    : [
        `${shown(text)} has ${odd.length > 1 ? odd : "a control character"} in it`,
        "neither YAML nor Kubernetes takes it",
        "leave it out",
      ];
}

/** Longest part of a path that a message repeats. */
const shownPart = 100;

/** Path as users write it, e.g. `machines.gpu-1.gpus[0].model`; `stack` for the whole. */
export function fieldOf(path: PropertyKey[]): string {
  const text = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${cut(String(part))}`)).join("");
  return text.replace(/^\./, "") || "stack";
}

function cut(part: string): string {
  return part.length > shownPart ? `${part.slice(0, shownPart)}…` : part;
}

/** The value at a key of a list or mapping; undefined where there is none. What a prototype has is none. */
export function childAt(value: any, key: PropertyKey): any {
  return value !== null && value !== undefined && Object.hasOwn(Object(value) as object, key) ? value[key] : undefined;
}

const canonicalOnes = new WeakSet<object>();

/** The same data with the keys of every mapping in order; of what is in order already, itself. */
export function canonical<T extends object>(data: T): T {
  if (canonicalOnes.has(data)) return data;
  const copy = sorted(data) as T;
  canonicalOnes.add(copy);
  return copy;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted((value as Record<string, unknown>)[key])]),
  );
}
