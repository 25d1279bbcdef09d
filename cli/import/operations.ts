import { stringify } from "yaml";
import { asText, isMapping, valueAt } from "../../components/recipe/mapping";
import { talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";

/** What a list of operations does to a configuration. */
export interface Operations {
  /** What it adds, as the part of a configuration that says the same. */
  text: string;
  /** Paths of the members that it sets or takes away, whatever stood there before (RFC 6902, 4.1 to 4.3). */
  sets: string[][];
  /** Whether it does anything else, such as to take something out, or to change an item of a list. */
  rest: boolean;
}

/**
 * What a list of operations (RFC 6902) adds to a machine's configuration, as the part of one that says the same; undefined where a text is
 * no such list.
 */
export function partOfOperations(text: string): Operations | undefined {
  const [operations, ...others] = talosDocuments(text).map(valueOfDocument);
  const isOfTalos = (one: unknown): boolean => /^\/(?:machine|cluster)\b/.test(asText(valueAt(one, "path")));
  if (!Array.isArray(operations) || others.length > 0 || !operations.every(isOfTalos)) return undefined;
  const part: Record<string, unknown> = {};
  const sets: string[][] = [];
  let rest = false;
  for (const { op, path, value } of operations as Record<string, unknown>[]) {
    const [last = "", ...above] = asText(path).split("/").slice(1).map(unescaped).reverse();
    const steps = [...above.toReversed(), last];
    const isSet = ["add", "replace", "remove"].includes(asText(op));
    if (isSet && !steps.some(isIndex)) sets.push(steps);
    const known = ["add", "replace"].includes(asText(op)) && !above.some(isIndex);
    if (!known) rest = true;
    else if (isIndex(last)) setAt(part, above.reverse(), (list) => [...(Array.isArray(list) ? list : []), value]);
    else setAt(part, steps, () => value);
  }
  return { text: stringify(part), sets, rest };
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

/** What each of some patches says in the end, as the part of a configuration: what a later JSON patch sets takes the place of what stood there. */
export function saidInTheEnd(patches: readonly string[]): string[] {
  const operations = patches.map(partOfOperations);
  return patches.map((patch, index) => {
    const sets = operations.slice(index + 1).flatMap((one) => one?.sets ?? []);
    const said = operations[index]?.text ?? patch;
    return sets.length === 0 ? said : without(said, sets);
  });
}

/** A part of a configuration without the members at some paths. */
function without(text: string, paths: readonly string[][]): string {
  const documents = talosDocuments(text);
  const [config] = documents.filter((document) => isMapping(valueOfDocument(document)) && !document.has("kind"));
  const there = paths.filter((path) => config?.hasIn(path));
  if (config === undefined || there.length === 0) return text;
  for (const path of there) if (config.hasIn(path)) config.deleteIn(path);
  return documents.map(String).join("---\n");
}
