import { isMap, isSeq, type Node } from "yaml";
import type { Finding } from "../types";
import { identityOf, type Addition, type Step } from "./added";
import { newPart, type Configuration, type Part } from "./documents";
import { isReplaced, isReplacedItem, isWhole, keyOfList } from "./keyed-lists";
import { describePath, isNothing, nodeAt, put, sameValue, valueOf } from "./tree";
import type { Wanted } from "./wanted";
import { isMapping } from "../mapping";

/** Writes the wanted values into a configuration, and records its additions. */
export class Applier {
  public readonly additions: Addition[] = [];
  public readonly conflicts: Finding[] = [];
  private readonly previousAdditions: Map<string, Addition>;

  /**
   * @param previous additions of an earlier merge, which this merge may change.
   * @param release Talos release whose rules apply. Default: the newest.
   */
  constructor(
    private readonly configuration: Configuration,
    previous: Addition[],
    private readonly release?: string,
  ) {
    this.previousAdditions = new Map(previous.map((addition) => [identityOf(addition), addition]));
  }

  public apply(documents: Wanted): void {
    for (const [name, value] of documents) {
      const part = this.configuration.parts.find((candidate) => candidate.name === name);
      const addition: Addition = { what: "document", document: name, path: [], value };
      const previousAddition = this.previousAdditions.get(identityOf(addition));
      if (!part) this.configuration.parts.push(newPart(name, value));
      else if (
        previousAddition &&
        sameValue(valueOf(part.document, nodeAt(part.document, [])), previousAddition.value)
      ) {
        if (!sameValue(previousAddition.value, value))
          this.configuration.parts[this.configuration.parts.indexOf(part)] = newPart(name, value);
      } else {
        this.map(part, [], value);
        continue;
      }
      this.additions.push(addition);
    }
  }

  private map(part: Part, path: Step[], mapping: Record<string, unknown>): void {
    for (const [key, value] of Object.entries(mapping)) {
      const keyPath = [...path, key];
      if (
        isReplaced(part.name, keyPath, this.release) ||
        typeof value !== "object" ||
        value === null
      )
        this.value(part, keyPath, value);
      else if (!this.container(part, keyPath, value)) continue;
      else if (Array.isArray(value)) this.list(part, keyPath, value);
      else this.map(part, keyPath, value as Record<string, unknown>);
    }
  }

  private list(part: Part, path: Step[], items: unknown[]): void {
    const key = keyOfList(part.name, path);
    for (const value of items) {
      const id: unknown = key !== undefined && isMapping(value) ? value[key] : undefined;
      if (
        key !== undefined &&
        isMapping(value) &&
        (typeof id === "string" || typeof id === "number")
      )
        this.item(part, [...path, { key, id: String(id) }], value);
      else this.value(part, [...path, { member: value }], value);
    }
  }

  /**
   * Makes sure that a path has a mapping or list. Returns false, and reports a conflict, if the path has another kind
   * of value.
   */
  private container(part: Part, path: Step[], collection: object): boolean {
    const node = nodeAt(part.document, path);
    const isList = Array.isArray(collection);
    const addition: Addition = {
      what: "container",
      document: part.name,
      path,
      value: isList ? [] : {},
    };
    const previousAddition = this.previousAdditions.get(identityOf(addition));
    if (isNothing(node)) {
      this.put(part, addition);
      this.additions.push(
        previousAddition ?? (node === undefined ? addition : { ...addition, old: null }),
      );
      return true;
    }
    if (isList ? isSeq(node) : isMap(node)) {
      if (previousAddition) this.additions.push(previousAddition);
      return true;
    }
    const currentKind = isSeq(node) ? "a list" : isMap(node) ? "a mapping" : "a value";
    this.conflict(
      path,
      `has ${currentKind} here, but the stack writes ${isList ? "a list" : "a mapping"}`,
    );
    return false;
  }

  /**
   * Writes an item of a list. It writes the whole item if the item is new or unchanged since an earlier merge, or if
   * Talos never merges the list's items (`isWhole`). Otherwise it merges the new fields into the existing
   * item.
   */
  private item(part: Part, path: Step[], value: Record<string, unknown>): void {
    const node = nodeAt(part.document, path);
    const previousAddition = this.previousAdditions.get(
      identityOf({ what: "value", document: part.name, path, value }),
    );
    const isUnchanged =
      previousAddition !== undefined &&
      sameValue(valueOf(part.document, node), previousAddition.value);
    if (node === undefined || isUnchanged || isWhole(part.name, path.slice(0, -1)))
      this.value(part, path, value);
    else this.map(part, path, value);
  }

  private value(part: Part, path: Step[], value: unknown): void {
    const node = nodeAt(part.document, path);
    const current = valueOf(part.document, node);
    const addition: Addition = { what: "value", document: part.name, path, value };
    const previousAddition = this.previousAdditions.get(identityOf(addition));
    if (node !== undefined && sameValue(current, value)) {
      if (previousAddition) this.additions.push({ ...previousAddition, value });
      return;
    }
    // Any other value counts as a newer value of the owner. It may also be from a run of this program whose answer was
    // lost, but these two cases cannot be distinguished.
    const isUnchanged =
      previousAddition !== undefined &&
      node !== undefined &&
      sameValue(current, previousAddition.value);
    if (
      node !== undefined &&
      !isUnchanged &&
      this.mustKeep(part, path, node, value, previousAddition)
    )
      return;
    this.put(part, addition);
    const replaced = isUnchanged ? previousAddition : node === undefined ? {} : { old: current };
    this.additions.push({ ...addition, ...("old" in replaced ? { old: replaced.old } : {}) });
  }

  /**
   * Whether the existing value must stay. If it must stay, the method reports a conflict, except if the existing value
   * is the wanted file.
   */
  private mustKeep(
    part: Part,
    path: Step[],
    node: Node,
    value: unknown,
    previousAddition: Addition | undefined,
  ): boolean {
    if (typeof path.at(-1) === "string") {
      const holdsMore =
        (isMap(node) || isSeq(node)) &&
        typeof value !== "object" &&
        !isReplaced(part.name, path, this.release);
      if (holdsMore)
        this.conflict(path, "has a mapping or list here, but the stack writes a single value");
      return holdsMore;
    }
    if (isReplacedItem(part.name, path.slice(0, -1))) return false;
    if (!sameFile(valueOf(part.document, node), value))
      this.conflict(
        path,
        previousAddition
          ? "has this file from an earlier update of the stack, but its content has changed since"
          : "already has this file with other content, which this stack did not write",
      );
    return true;
  }

  private put(part: Part, { path, value }: Addition): void {
    put(part.document, path, value);
    part.changed = true;
  }

  private conflict(path: Step[], problem: string): void {
    const finding = {
      problem: `the machine's configuration ${problem}`,
      why: "Talos accepts one file for each path and one type for each field, and the stack does not delete another tool's file, list or mapping",
      remedy:
        "remove this field or file from the machine's configuration, or from the stack's patches; for a file with containerd settings, move the settings to machines.<name>.containerd.extra",
    };
    this.conflicts.push({ check: "adopted-conflict", field: describePath(path), ...finding });
  }
}

/**
 * Whether two items of `machine.files` write the same file. Permissions do not count, because Talos ignores them for
 * such files.
 */
const sameFile = (current: unknown, planned: unknown): boolean =>
  isMapping(current) &&
  isMapping(planned) &&
  sameValue(current["content"], planned["content"]) &&
  sameValue(current["op"] ?? "create", planned["op"] ?? "create");
