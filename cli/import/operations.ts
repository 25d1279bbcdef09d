import { Document, stringify } from "yaml";
import { asText, isMapping, valueAt } from "../../components/recipe/mapping";
import { ownDocuments, talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";

/** Effect of a list of operations on a configuration. */
export interface Operations {
  /** Its additions, as an equivalent part of a configuration. */
  text: string;
  /** Paths of the members that it sets or takes away, whatever stood there before (RFC 6902, 4.1 to 4.3). */
  sets: string[][];
  /** Whether it does anything else, such as to take something out, or to change an item of a list. */
  rest: boolean;
}

/**
 * Additions of a list of operations (RFC 6902) to a machine's configuration, as an equivalent part of a
 * configuration; undefined where a text is no such list.
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

/** Most steps of a path that is followed: no field of Talos' lies deeper. */
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
  const inner = isMapping(old) ? { ...old } : {}; // what an operation says stays as it is
  within[key] = inner;
  setAt(inner, rest, set);
}

/** Final content of each patch, as a part of a configuration: a later JSON patch overrides earlier values. */
export function saidInTheEnd(patches: readonly string[]): string[] {
  const operations = patches.map(partOfOperations);
  const later = new Set<string>();
  const said: string[] = [];
  // From the last one on: of each only its own paths are looked for among those that come after it.
  for (let index = patches.length - 1; index >= 0; index--) {
    const { text = patches[index]!, sets = [] } = operations[index] ?? {};
    said.push(later.size === 0 ? text : without(text, later));
    for (const path of sets) later.add(JSON.stringify(path));
  }
  return said.reverse();
}

/** A part of a configuration without the members at some paths, each as JSON. */
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

/** Paths of all members of mappings in mappings, those above before those below. */
const pathsIn = (value: unknown, at: string[] = []): string[][] =>
  isMapping(value)
    ? Object.entries(value).flatMap(([key, member]) => [
        [...at, key],
        ...pathsIn(member, [...at, key]),
      ])
    : [];
