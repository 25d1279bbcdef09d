import { isDeepStrictEqual } from "node:util";
import { diffArrays } from "diff";
import { stringify } from "yaml";
import { defined, isMapping } from "../../components/recipe/mapping";
import { secretsIn } from "../../components/recipe/machine/secrets";
import { inLine } from "../../components/recipe/rules/printable";
import { secretIn } from "../../components/recipe/rules/secret-text";

/** A changed value. */
export interface FieldChange {
  /** Path of the field, e.g. `machines.gpu-1.gpus[0].count`. */
  field: string;
  /** Earlier value as text; undefined if it is new. */
  before?: string;
  /** Later value as text; undefined if it is removed. */
  after?: string;
}

/** Text that replaces a secret. */
const hidden = "(hidden)";

/** Text that replaces a patch. */
const patch = "(a patch)";

/** Copies data and hides its secrets, since a plan is written into pull requests. */
export function redacted(value: unknown, kind = ""): unknown {
  const prefix = kind === "" ? "" : `${kind}.`;
  const paths = new Set(secretsIn(value, kind).map(({ path }) => path.slice(prefix.length)));
  const visit = (inner: unknown, path: string): unknown => {
    if (paths.has(path)) return hidden;
    if (Array.isArray(inner)) return inner.map((item, index) => visit(item, `${path}[${index}]`));
    if (isMapping(inner))
      return Object.fromEntries(
        Object.entries(inner).map(([key, child]) => [
          key,
          visit(child, path === "" ? key : `${path}.${key}`),
        ]),
      );
    return typeof inner === "string" && secretIn(inner) !== undefined ? hidden : inner;
  };
  return visit(value, "");
}

/** Differences of two trees of plain data, leaf by leaf. A new or removed object is one difference. */
export function fieldChanges(before: unknown, after: unknown, field = ""): FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isMapping(before) && isMapping(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return keys.flatMap((key) =>
      fieldChanges(before[key], after[key], field === "" ? key : `${field}.${key}`),
    );
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => fieldChanges(item, after[index], `${field}[${index}]`));
  const textOf = (value: unknown): string | undefined =>
    value === undefined ? undefined : shownValue(value, field);
  return [{ field, ...defined({ before: textOf(before), after: textOf(after) }) }];
}

/**
 * A value as text. A placeholder replaces each patch, since a secret may be anywhere in it. The page's section on the
 * configuration shows the patch without its secrets.
 */
function shownValue(value: unknown, field: string): string {
  if (/(^|\.)patches\[\d+\]$/.test(field)) return patch;
  if (typeof value === "string" && value.includes("\n")) return "(a text of several lines)";
  const list = field.split(".").at(-1);
  return JSON.stringify(value, (key, inner: unknown) =>
    (key || list) === "patches" && Array.isArray(inner) ? inner.map(() => patch) : inner,
  );
}

/** Changed parts of a configuration, as lines that begin with `-`, `+` or a space. */
export function configurationDifference(
  before: Map<string, unknown>,
  after: Map<string, unknown>,
): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names.flatMap((name) => {
    const [previousPart, nextPart] = [before.get(name), after.get(name)];
    if (isDeepStrictEqual(previousPart, nextPart)) return [];
    return [
      `@@ ${inLine(name)} @@`,
      ...lineDifference(linesOf(previousPart, name), linesOf(nextPart, name)),
    ];
  });
}

function linesOf(value: unknown, part: string): string[] {
  if (value === undefined) return [];
  const [kind, ...parentSteps] = part.split(/[./]/);
  const isDocument = /^[A-Z]/.test(part);
  // Redacted as a part of the whole document, since its path shows whether it is a secret.
  const path = [kind!, ...parentSteps];
  const document = isDocument
    ? value
    : path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
  const redactedDocument = redacted(document, isDocument ? kind : "");
  const content = isDocument
    ? redactedDocument
    : path.reduce<unknown>(
        (current, step) => (isMapping(current) ? current[step] : current),
        redactedDocument,
      );
  return stringify(content, { lineWidth: 0 }).trimEnd().split("\n");
}

/** The shortest list of changes from one list of lines to the other. */
export const lineDifference = (before: string[], after: string[]): string[] =>
  diffArrays(before, after).flatMap(({ added, removed, value }) => {
    const mark = removed ? "-" : added ? "+" : " ";
    return value.map((line) => `${mark} ${line}`);
  });
