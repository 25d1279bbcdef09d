import { Document, stringify } from "yaml";
import { asText, isMapping, valueAt } from "../../components/recipe/mapping";
import { ownDocuments, talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";

/** Effect of a list of operations on a configuration. */
export interface Operations {
  /** Its additions, as a part of a configuration with the same effect. */
  text: string;
  /** Paths of the members that it sets or removes, with any previous value (RFC 6902, 4.1 to 4.3). */
  sets: string[][];
  /** Whether it has other effects, such as a removal or a changed item of a list. */
  rest: boolean;
}

/**
 * Effect of a list of operations (RFC 6902) on a machine's configuration; undefined if the text is no such list.
 */
export function partOfOperations(text: string): Operations | undefined {
  const [operations, ...others] = talosDocuments(text).map(valueOfDocument);
  const isOfTalos = (one: unknown): boolean =>
    /^\/(?:machine|cluster)\b/.test(asText(valueAt(one, "path")));
  if (!Array.isArray(operations) || others.length > 0 || !operations.every(isOfTalos))
    return undefined;
  const part: Record<string, unknown> = {};
  const sets: string[][] = [];
  let rest = false;
  for (const { op, path, value } of operations as Record<string, unknown>[]) {
    const [last = "", ...above] = asText(path).split("/").slice(1).map(unescaped).reverse();
    const steps = [...above.toReversed(), last];
    const isSet = ["add", "replace", "remove"].includes(asText(op));
    if (isSet && !steps.some(isIndex)) sets.push(steps);
    const known =
      ["add", "replace"].includes(asText(op)) && !above.some(isIndex) && steps.length <= deepest;
    if (!known) rest = true;
    else if (isIndex(last))
      setAt(part, above.reverse(), (list) => [...(Array.isArray(list) ? list : []), value]);
    else setAt(part, steps, () => value);
  }
  return { text: stringify(part), sets, rest };
}

/** The largest number of steps in a path: no field of Talos is deeper. */
const deepest = 50;

const isIndex = (step: string): boolean => /^(?:-|\d+)$/.test(step);

/** Source: RFC 6901, JSON pointers. */
const unescaped = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

function setAt(
  within: Record<string, unknown>,
  [key = "", ...rest]: string[],
  set: (old: unknown) => unknown,
): void {
  const old = Object.hasOwn(within, key) ? within[key] : undefined;
  if (rest.length === 0) return void (within[key] = set(old));
  const inner = isMapping(old) ? { ...old } : {}; // the operation's value must not change
  within[key] = inner;
  setAt(inner, rest, set);
}

/** For each patch, a part of a configuration with the values that later JSON patches do not override. */
export function saidInTheEnd(patches: readonly string[]): string[] {
  const operations = patches.map(partOfOperations);
  const later = new Set<string>();
  const said: string[] = [];
  // Goes from the last patch to the first, and collects the paths that later patches set.
  for (let index = patches.length - 1; index >= 0; index--) {
    const { text = patches[index]!, sets = [] } = operations[index] ?? {};
    said.push(later.size === 0 ? text : without(text, later));
    for (const path of sets) later.add(JSON.stringify(path));
  }
  return said.reverse();
}

/** A part of a configuration without the members at these paths; each path is a JSON text. */
function without(text: string, paths: ReadonlySet<string>): string {
  const configOf = (documents: readonly Document[]): Document | undefined =>
    documents.find((document) => isMapping(valueOfDocument(document)) && !document.has("kind"));
  const there = pathsIn(valueOfDocument(configOf(talosDocuments(text)) ?? new Document())).filter(
    (path) => paths.has(JSON.stringify(path)),
  );
  if (there.length === 0) return text;
  const documents = ownDocuments(text);
  const config = configOf(documents)!;
  for (const path of there) if (config.hasIn(path)) config.deleteIn(path);
  return documents.map(String).join("---\n");
}

/** Paths of all members of nested mappings; a parent comes before its children. */
const pathsIn = (value: unknown, at: string[] = []): string[][] =>
  isMapping(value)
    ? Object.entries(value).flatMap(([key, member]) => [
        [...at, key],
        ...pathsIn(member, [...at, key]),
      ])
    : [];
