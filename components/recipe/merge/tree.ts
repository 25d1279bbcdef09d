import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, isSeq, Scalar, type Document, type Node, type YAMLMap, type YAMLSeq } from "yaml";
import type { Step } from "./added";

/** A document's nodes by steps. */

/** The node at the end of the steps; undefined where there is none. */
export function nodeAt(document: Document, path: Step[]): Node | undefined {
  return path.reduce<Node | undefined>((node, step) => childOf(node, step), document.contents ?? undefined);
}

function childOf(node: Node | undefined, step: Step): Node | undefined {
  if (typeof step === "string") return isMap(node) ? node.get(step, true) : undefined;
  return isSeq(node) ? itemWith(node, step.key, step.id) : undefined;
}

function itemWith(list: YAMLSeq, key: string, id: string): YAMLMap | undefined {
  return list.items.find((item): item is YAMLMap => isMap(item) && String(item.get(key)) === id);
}

/** Value of a node; undefined of none. */
export function valueOf(document: Document, node: Node | undefined): unknown {
  return node === undefined ? undefined : (node.toJS(document) as unknown);
}

/** Whether a node stands for nothing: not there, or null. */
export function isNothing(node: Node | undefined): boolean {
  return node === undefined || (isScalar(node) && node.value === null);
}

/** Whether two values mean the same to Talos, which reads `1` and `"1"` alike into its text fields. */
export function sameValue(left: unknown, right: unknown): boolean {
  const scalar = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);
  return scalar(left) && scalar(right) ? String(left) === String(right) : isDeepStrictEqual(left, right);
}

/** Sets a value of the mapping at a path. */
export function setIn(document: Document, path: Step[], key: string, value: unknown): void {
  if (path.length === 0 && isNothing(document.contents ?? undefined)) document.contents = document.createNode({});
  const parent = nodeAt(document, path);
  if (!isMap(parent)) throw new Error(`no mapping at ${describePath(path)}`);
  const old = parent.get(key, true);
  // A value that takes the place of another keeps the comment beside it.
  if (isScalar(old) && (value === null || typeof value !== "object")) overwrite(old, value);
  else {
    openUp(parent);
    parent.set(key, fresh(document, value));
  }
}

/** Appends to the list at a path. */
export function appendTo(document: Document, path: Step[], value: unknown): void {
  const list = nodeAt(document, path);
  if (!isSeq(list)) throw new Error(`no list at ${describePath(path)}`);
  openUp(list);
  list.items.push(fresh(document, value));
}

function overwrite(scalar: Scalar, value: unknown): void {
  scalar.value = value;
  // How the old value was written says nothing about how the new one must be.
  delete scalar.type;
  delete scalar.source;
  delete scalar.format;
}

/** `{}` and `[]` are written in lines once something is in them. */
function openUp(collection: YAMLMap | YAMLSeq): void {
  if (collection.items.length === 0) collection.flow = false;
}

/** Puts a value in the place of a list item. */
export function replaceItem(document: Document, path: Step[], old: Node, value: unknown): void {
  const list = nodeAt(document, path);
  if (isSeq(list)) list.items[list.items.indexOf(old)] = fresh(document, value);
}

/** Takes a key out of the mapping, or an item out of the list, that holds it. */
export function remove(document: Document, path: Step[]): void {
  const parent = nodeAt(document, path.slice(0, -1));
  const last = path.at(-1);
  if (typeof last === "string" && isMap(parent)) parent.delete(last);
  else if (last !== undefined && typeof last !== "string" && isSeq(parent))
    removeItem(parent, itemWith(parent, last.key, last.id));
}

/** Takes the item with a value out of the list at a path. */
export function removeMember(document: Document, path: Step[], value: unknown): void {
  const list = nodeAt(document, path);
  if (isSeq(list)) removeItem(list, memberOf(document, list, value));
}

/** The item of a list with a value; undefined when there is none. */
export function memberOf(document: Document, list: YAMLSeq, value: unknown): Node | undefined {
  return (list.items as Node[]).find((item) => sameValue(valueOf(document, item), value));
}

function removeItem(list: YAMLSeq, item: Node | undefined): void {
  if (item) list.items.splice(list.items.indexOf(item), 1);
}

function fresh(document: Document, value: unknown): Node {
  const node = document.createNode(value);
  const permissions = isMap(node) ? node.get("permissions", true) : undefined;
  if (permissions instanceof Scalar && typeof permissions.value === "number") permissions.format = "OCT";
  return node;
}

/** A path as people read it, e.g. `machine.files[/etc/x]`. */
export function describePath(path: Step[]): string {
  return path
    .map((step) => (typeof step === "string" ? `.${step}` : `[${step.id}]`))
    .join("")
    .replace(/^\./, "");
}
