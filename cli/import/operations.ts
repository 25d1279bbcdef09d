import { Document, stringify } from "yaml";
import { asText, isMapping, valueAt } from "../../components/recipe/mapping";
import { ownDocuments, talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";

/** Effect of a JSON patch (RFC 6902) on a machine configuration. */
export interface Operations {
  /** The values that the patch adds or replaces, in the form of a machine configuration. */
  text: string;
  /** Paths of the members that the patch sets or removes. The previous values do not matter (RFC 6902, 4.1 to 4.3). */
  sets: string[][];
  /** Whether the patch has effects that `text` lacks, such as a removal or a changed item of a list. */
  rest: boolean;
}

/** Effect of a JSON patch (RFC 6902) on a machine configuration; undefined if the text is no such patch. */
export function partOfOperations(text: string): Operations | undefined {
  const [operations, ...otherDocuments] = talosDocuments(text).map(valueOfDocument);
  const isOfTalos = (operation: unknown): boolean =>
    /^\/(?:machine|cluster)\b/.test(asText(valueAt(operation, "path")));
  if (!Array.isArray(operations) || otherDocuments.length > 0 || !operations.every(isOfTalos))
    return undefined;
  const part: Record<string, unknown> = {};
  const sets: string[][] = [];
  let hasUnsupported = false;
  for (const { op, path, value } of operations as Record<string, unknown>[]) {
    const [last = "", ...parentSteps] = asText(path).split("/").slice(1).map(unescaped).reverse();
    const steps = [...parentSteps.toReversed(), last];
    const isSet = ["add", "replace", "remove"].includes(asText(op));
    if (isSet && !steps.some(isIndex)) sets.push(steps);
    const isSupported =
      ["add", "replace"].includes(asText(op)) &&
      !parentSteps.some(isIndex) &&
      steps.length <= deepest;
    if (!isSupported) hasUnsupported = true;
    else if (isIndex(last))
      setAt(part, parentSteps.reverse(), (list) => [...(Array.isArray(list) ? list : []), value]);
    else setAt(part, steps, () => value);
  }
  return { text: stringify(part), sets, rest: hasUnsupported };
}

/** The largest number of steps in a path: no field of Talos is deeper. */
const deepest = 50;

const isIndex = (step: string): boolean => /^(?:-|\d+)$/.test(step);

/** A step of a JSON pointer without its escapes (RFC 6901). */
const unescaped = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

function setAt(
  target: Record<string, unknown>,
  [key = "", ...rest]: string[],
  set: (old: unknown) => unknown,
): void {
  const oldValue = Object.hasOwn(target, key) ? target[key] : undefined;
  if (rest.length === 0) return void (target[key] = set(oldValue));
  const inner = isMapping(oldValue) ? { ...oldValue } : {}; // the operation's value must not change
  target[key] = inner;
  setAt(inner, rest, set);
}

/**
 * For each patch, its text in the form of a machine configuration, without the values that later JSON patches override.
 */
export function finalPatchTexts(patches: readonly string[]): string[] {
  const operations = patches.map(partOfOperations);
  const laterPaths = new Set<string>();
  const texts: string[] = [];
  // Goes from the last patch to the first, and collects the paths that later patches set.
  for (let index = patches.length - 1; index >= 0; index--) {
    const { text = patches[index]!, sets = [] } = operations[index] ?? {};
    texts.push(laterPaths.size === 0 ? text : withoutPaths(text, laterPaths));
    for (const path of sets) laterPaths.add(JSON.stringify(path));
  }
  return texts.reverse();
}

/** A part of a configuration without the members at these paths; each path is a JSON text. */
function withoutPaths(text: string, paths: ReadonlySet<string>): string {
  const configOf = (documents: readonly Document[]): Document | undefined =>
    documents.find((document) => isMapping(valueOfDocument(document)) && !document.has("kind"));
  const overwrittenPaths = pathsIn(
    valueOfDocument(configOf(talosDocuments(text)) ?? new Document()),
  ).filter((path) => paths.has(JSON.stringify(path)));
  if (overwrittenPaths.length === 0) return text;
  const documents = ownDocuments(text);
  const config = configOf(documents)!;
  for (const path of overwrittenPaths) if (config.hasIn(path)) config.deleteIn(path);
  return documents.map(String).join("---\n");
}

/** Paths of all members of nested mappings; a parent comes before its children. */
const pathsIn = (value: unknown, parents: string[] = []): string[][] =>
  isMapping(value)
    ? Object.entries(value).flatMap(([key, member]) => [
        [...parents, key],
        ...pathsIn(member, [...parents, key]),
      ])
    : [];
