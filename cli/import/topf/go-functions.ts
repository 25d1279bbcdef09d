import { stringify } from "yaml";
import { boundedYaml } from "../../../components/recipe/rules/yaml";
import { asText, isMapping } from "../../../components/recipe/mapping";

/** A function of a template, with its arguments in their written order. */
export type TemplateFunction = (...values: unknown[]) => unknown;

/** Whether Go treats a value as true (text/template, Actions): any value except the empty value of its type. */
export const isTrue = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : isMapping(value)
      ? Object.keys(value).length > 0
      : Boolean(value);

/** A value as Go's `fmt` writes it (`%v`). */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(shown).join(" ")}]`;
  if (!isMapping(value)) return asText(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${shown(value[key])}`).join(" ")}]`;
}

const list = (value: unknown): unknown[] => {
  if (!Array.isArray(value)) throw new Error("a function needs a list");
  return value as unknown[];
};

const mapping = (value: unknown): Record<string, unknown> => {
  if (!isMapping(value)) throw new Error("a function needs a mapping");
  return value;
};

const text = (value: unknown): string =>
  value === undefined || value === null ? "" : shown(value);

const indented = (count: unknown, value: unknown): string => {
  const blanks = " ".repeat(Math.min(Number(count), 200));
  return text(value).replaceAll(/^/gm, blanks);
};

const compared =
  (test: (one: number, other: number) => boolean): TemplateFunction =>
  (one, other) => {
    if (typeof one !== "number" || typeof other !== "number")
      throw new Error("a comparison needs numbers");
    return test(one, other);
  };

const yaml = (value: unknown): string => stringify(value).trimEnd();

function formatted(format: unknown, ...values: unknown[]): string {
  const left = [...values];
  return text(format).replaceAll(/%(.?)/g, (whole: string, verb: string) => {
    if (verb === "%") return "%";
    if (!"svdtq".includes(verb) || verb === "" || left.length === 0)
      throw new Error(`printf has ${whole}`);
    const value = left.shift();
    return verb === "q" ? JSON.stringify(text(value)) : shown(value);
  });
}

function indexed(value: unknown, ...keys: unknown[]): unknown {
  return keys.reduce<unknown>((there, key) => {
    if (Array.isArray(there)) {
      if (!Number.isInteger(key) || there[Number(key)] === undefined)
        throw new Error("an index is outside of its list");
      return there[Number(key)] as unknown;
    }
    const of = mapping(there);
    // A missing key of a mapping gives an empty value.
    return Object.hasOwn(of, text(key)) ? of[text(key)] : undefined;
  }, value);
}

/** Functions of text/template, and the functions of sprig (masterminds.github.io/sprig) that known patches use. */
export const functions: Record<string, TemplateFunction> = {
  and: (...values) =>
    values.find((value) => !isTrue(value)) ?? (values.every(isTrue) ? values.at(-1) : undefined),
  or: (...values) => values.find(isTrue) ?? values.at(-1),
  not: (value) => !isTrue(value),
  eq: (first, ...others) => others.some((other) => shown(first) === shown(other)),
  ne: (one, other) => shown(one) !== shown(other),
  lt: compared((one, other) => one < other),
  le: compared((one, other) => one <= other),
  gt: compared((one, other) => one > other),
  ge: compared((one, other) => one >= other),
  index: indexed,
  len: (value) =>
    typeof value === "string" || Array.isArray(value)
      ? value.length
      : Object.keys(mapping(value)).length,
  print: (...values) => values.map(text).join(""),
  printf: formatted,
  default: (other, value) => (isTrue(value) ? value : other),
  empty: (value) => !isTrue(value),
  coalesce: (...values) => values.find(isTrue),
  ternary: (one, other, test) => (isTrue(test) ? one : other),
  quote: (...values) => values.map((value) => JSON.stringify(text(value))).join(" "),
  squote: (...values) => values.map((value) => `'${text(value)}'`).join(" "),
  toString: text,
  trim: (value) => text(value).trim(),
  trimPrefix: (part, value) =>
    text(value).startsWith(text(part)) ? text(value).slice(text(part).length) : text(value),
  trimSuffix: (part, value) =>
    text(part) !== "" && text(value).endsWith(text(part))
      ? text(value).slice(0, -text(part).length)
      : text(value),
  upper: (value) => text(value).toUpperCase(),
  lower: (value) => text(value).toLowerCase(),
  replace: (old, by, value) => text(value).replaceAll(text(old), () => text(by)),
  contains: (part, value) => text(value).includes(text(part)),
  hasPrefix: (part, value) => text(value).startsWith(text(part)),
  hasSuffix: (part, value) => text(value).endsWith(text(part)),
  splitList: (mark, value) => text(value).split(text(mark)),
  join: (mark, values) => list(values).map(text).join(text(mark)),
  list: (...values) => values,
  first: (values) => list(values)[0],
  last: (values) => list(values).at(-1),
  has: (value, values) => list(values).some((one) => shown(one) === shown(value)),
  hasKey: (of, key) => Object.hasOwn(mapping(of), text(key)),
  get: (of, key) => (Object.hasOwn(mapping(of), text(key)) ? mapping(of)[text(key)] : ""),
  keys: (of) => Object.keys(mapping(of)),
  int: (value) => Math.trunc(Number(value)) || 0,
  add: (...values) => values.reduce<number>((sum, value) => sum + Number(value), 0),
  sub: (one, other) => Number(one) - Number(other),
  indent: indented,
  nindent: (count, value) => `\n${indented(count, value)}`,
  toYaml: yaml,
  fromYaml: (value) => boundedYaml(text(value)),
  toJson: (value) => JSON.stringify(value),
  b64enc: (value) => Buffer.from(text(value)).toString("base64"),
};
