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
export function printedValue(value: unknown): string {
  if (value === undefined || value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(printedValue).join(" ")}]`;
  if (!isMapping(value)) return asText(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${printedValue(value[key])}`).join(" ")}]`;
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
  value === undefined || value === null ? "" : printedValue(value);

const indentText = (count: unknown, value: unknown): string => {
  const blanks = " ".repeat(Math.min(Number(count), 200));
  return text(value).replaceAll(/^/gm, blanks);
};

const numberComparison =
  (test: (a: number, b: number) => boolean): TemplateFunction =>
  (a, b) => {
    if (typeof a !== "number" || typeof b !== "number")
      throw new Error("a comparison needs numbers");
    return test(a, b);
  };

const yaml = (value: unknown): string => stringify(value).trimEnd();

function formatText(format: unknown, ...values: unknown[]): string {
  const remainingValues = [...values];
  return text(format).replaceAll(/%(.?)/g, (whole: string, verb: string) => {
    if (verb === "%") return "%";
    if (!"svdtq".includes(verb) || verb === "" || remainingValues.length === 0)
      throw new Error(`printf has ${whole}`);
    const value = remainingValues.shift();
    return verb === "q" ? JSON.stringify(text(value)) : printedValue(value);
  });
}

function valueAtKeys(value: unknown, ...keys: unknown[]): unknown {
  return keys.reduce<unknown>((current, key) => {
    if (Array.isArray(current)) {
      if (!Number.isInteger(key) || current[Number(key)] === undefined)
        throw new Error("an index is outside of its list");
      return current[Number(key)] as unknown;
    }
    const object = mapping(current);
    // A missing key of a mapping gives an empty value.
    return Object.hasOwn(object, text(key)) ? object[text(key)] : undefined;
  }, value);
}

/** Functions of text/template, and the functions of sprig (masterminds.github.io/sprig) that known patches use. */
export const functions: Record<string, TemplateFunction> = {
  and: (...values) =>
    values.find((value) => !isTrue(value)) ?? (values.every(isTrue) ? values.at(-1) : undefined),
  or: (...values) => values.find(isTrue) ?? values.at(-1),
  not: (value) => !isTrue(value),
  eq: (first, ...candidates) =>
    candidates.some((candidate) => printedValue(first) === printedValue(candidate)),
  ne: (a, b) => printedValue(a) !== printedValue(b),
  lt: numberComparison((a, b) => a < b),
  le: numberComparison((a, b) => a <= b),
  gt: numberComparison((a, b) => a > b),
  ge: numberComparison((a, b) => a >= b),
  index: valueAtKeys,
  len: (value) =>
    typeof value === "string" || Array.isArray(value)
      ? value.length
      : Object.keys(mapping(value)).length,
  print: (...values) => values.map(text).join(""),
  printf: formatText,
  default: (fallback, value) => (isTrue(value) ? value : fallback),
  empty: (value) => !isTrue(value),
  coalesce: (...values) => values.find(isTrue),
  ternary: (whenTrue, whenFalse, test) => (isTrue(test) ? whenTrue : whenFalse),
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
  replace: (old, replacement, value) => text(value).replaceAll(text(old), () => text(replacement)),
  contains: (part, value) => text(value).includes(text(part)),
  hasPrefix: (part, value) => text(value).startsWith(text(part)),
  hasSuffix: (part, value) => text(value).endsWith(text(part)),
  splitList: (separator, value) => text(value).split(text(separator)),
  join: (separator, values) => list(values).map(text).join(text(separator)),
  list: (...values) => values,
  first: (values) => list(values)[0],
  last: (values) => list(values).at(-1),
  has: (value, values) => list(values).some((item) => printedValue(item) === printedValue(value)),
  hasKey: (object, key) => Object.hasOwn(mapping(object), text(key)),
  get: (object, key) =>
    Object.hasOwn(mapping(object), text(key)) ? mapping(object)[text(key)] : "",
  keys: (object) => Object.keys(mapping(object)),
  int: (value) => Math.trunc(Number(value)) || 0,
  add: (...values) => values.reduce<number>((sum, value) => sum + Number(value), 0),
  sub: (a, b) => Number(a) - Number(b),
  indent: indentText,
  nindent: (count, value) => `\n${indentText(count, value)}`,
  toYaml: yaml,
  fromYaml: (value) => boundedYaml(text(value)),
  toJson: (value) => JSON.stringify(value),
  b64enc: (value) => Buffer.from(text(value)).toString("base64"),
};
