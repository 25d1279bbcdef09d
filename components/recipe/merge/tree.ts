import { isDeepStrictEqual } from "node:util";
import {
  isMap,
  isScalar,
  isSeq,
  Scalar,
  type Document,
  type Node,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { shortened, type Step } from "./added";

/** Functions that read and change the nodes of a YAML document at a path of steps. */

/** The node at the end of the steps; undefined if it is missing. */
export const nodeAt = (document: Document, path: Step[]): Node | undefined =>
  path.reduce<Node | undefined>(
    (node, step) => childOf(document, node, step),
    document.contents ?? undefined,
  );

function childOf(document: Document, node: Node | undefined, step: Step): Node | undefined {
  if (typeof step === "string") return isMap(node) ? node.get(step, true) : undefined;
  const items = isSeq(node) ? (node.items as Node[]) : [];
  return items.find((item) =>
    "member" in step
      ? sameValue(valueOf(document, item), step.member)
      : isMap(item) && String(item.get(step.key)) === step.id,
  );
}

/** Value of a node; undefined without a node. */
export const valueOf = (document: Document, node: Node | undefined): unknown =>
  node === undefined ? undefined : (node.toJS(document) as unknown);

/** Whether a node is missing or null. */
export const isNothing = (node: Node | undefined): boolean =>
  node === undefined || (isScalar(node) && node.value === null);

/**
 * Whether two values have the same meaning for Talos, which reads `1` and `"1"` as the same text. In each value, hashes
 * may stand for long texts (`shortened`).
 */
export function sameValue(left: unknown, right: unknown): boolean {
  const scalar = (value: unknown): boolean =>
    ["string", "number", "boolean"].includes(typeof value);
  return scalar(left) && scalar(right)
    ? String(left) === String(right)
    : isDeepStrictEqual(shortened(left), shortened(right));
}

/** Sets a value of a mapping, or an item of a list. A new item comes to the end of the list. */
export function put(document: Document, path: Step[], value: unknown): void {
  if (path.length === 1 && isNothing(document.contents ?? undefined))
    document.contents = document.createNode({});
  const [parent, last, oldNode] = [
    nodeAt(document, path.slice(0, -1)),
    path.at(-1)!,
    nodeAt(document, path),
  ];
  // A new value keeps the comment of the one that it replaces.
  if (
    typeof last === "string" &&
    isScalar(oldNode) &&
    (value === null || typeof value !== "object")
  )
    return overwrite(oldNode, value);
  const node = fresh(document, value);
  if (typeof last === "string" && isMap(parent)) openUp(parent).set(last, node);
  else if (typeof last !== "string" && isSeq(parent)) {
    const index = oldNode ? parent.items.indexOf(oldNode) : parent.items.length;
    openUp(parent).items.splice(index, oldNode ? 1 : 0, node);
  } else throw new Error(`no mapping or list at ${describePath(path)}`);
}

function overwrite(scalar: Scalar, value: unknown): void {
  scalar.value = value;
  // The notation of the old value does not fit the new value.
  delete scalar.type;
  delete scalar.source;
  delete scalar.format;
}

/** Makes an empty mapping or list (`{}`, `[]`) use block style before it gets content. */
function openUp<Collection extends YAMLMap | YAMLSeq>(collection: Collection): Collection {
  if (collection.items.length === 0) collection.flow = false;
  return collection;
}

/** Removes a key from its mapping, or an item from its list. */
export function remove(document: Document, path: Step[]): void {
  const [parent, last, node] = [
    nodeAt(document, path.slice(0, -1)),
    path.at(-1),
    nodeAt(document, path),
  ];
  if (isMap(parent)) parent.delete(last);
  else if (isSeq(parent) && node) parent.items.splice(parent.items.indexOf(node), 1);
}

function fresh(document: Document, value: unknown): Node {
  const node = document.createNode(value);
  const permissions = isMap(node) ? node.get("permissions", true) : undefined;
  if (permissions instanceof Scalar && typeof permissions.value === "number")
    permissions.format = "OCT";
  return node;
}

/** A path in words for messages, e.g. `machine.files[/etc/x]`. */
export const describePath = (path: Step[]): string =>
  path
    .map((step) => (typeof step === "string" ? `.${step}` : `[${"id" in step ? step.id : ""}]`))
    .join("")
    .replace(/^\./, "");
