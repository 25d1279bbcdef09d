import { stringify } from "yaml";
import { asText, isMapping, valueAt } from "../../components/recipe/mapping";
import { talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";

/**
 * What a list of operations (RFC 6902) adds to a machine's configuration, as the part of one that says the same; undefined where a text is
 * no such list.
 *
 * @returns with `rest`, whether it does anything else, such as to take something out, or to change an item of a list.
 */
export function partOfOperations(text: string): { text: string; rest: boolean } | undefined {
  const [operations, ...others] = talosDocuments(text).map(valueOfDocument);
  const isOfTalos = (one: unknown): boolean => /^\/(?:machine|cluster)\b/.test(asText(valueAt(one, "path")));
  if (!Array.isArray(operations) || others.length > 0 || !operations.every(isOfTalos)) return undefined;
  const part: Record<string, unknown> = {};
  let rest = false;
  for (const { op, path, value } of operations as Record<string, unknown>[]) {
    const [last = "", ...above] = asText(path).split("/").slice(1).map(unescaped).reverse();
    const known = ["add", "replace"].includes(asText(op)) && !above.some(isIndex);
    if (!known) rest = true;
    else if (isIndex(last)) setAt(part, above.reverse(), (list) => [...(Array.isArray(list) ? list : []), value]);
    else setAt(part, [...above.reverse(), last], () => value);
  }
  return { text: stringify(part), rest };
}

const isIndex = (step: string): boolean => /^(?:-|\d+)$/.test(step);

/** Source: RFC 6901, JSON pointers. */
const unescaped = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

function setAt(within: Record<string, unknown>, [key = "", ...rest]: string[], set: (old: unknown) => unknown): void {
  const old = Object.hasOwn(within, key) ? within[key] : undefined;
  if (rest.length === 0) return void (within[key] = set(old));
  const inner = isMapping(old) ? old : {};
  within[key] = inner;
  setAt(inner, rest, set);
}
