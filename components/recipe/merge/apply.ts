import { isMap, isSeq, type Document, type Node } from "yaml";
import type { Finding } from "../types";
import { identityOf, type Addition, type Step } from "./added";
import { newPart, type Configuration, type Part } from "./documents";
import { isReplaced, isReplacedItem, isWhole, keyOfList } from "./keyed-lists";
import { appendTo, describePath, isNothing, memberOf, nodeAt, replaceItem, sameValue, setIn, valueOf } from "./tree";
import type { Wanted } from "./wanted";
import { isMapping } from "../mapping";

/** Brings what is wanted into a configuration, and notes what it brought. */
export class Applier {
  public readonly additions: Addition[] = [];
  public readonly conflicts: Finding[] = [];
  private readonly before: Map<string, Addition>;

  /** @param previous what an earlier merge brought in: ours to change. */
  constructor(
    private readonly configuration: Configuration,
    previous: Addition[],
  ) {
    this.before = new Map(previous.map((addition) => [identityOf(addition), addition]));
  }

  public apply(wanted: Wanted): void {
    for (const [name, value] of wanted) {
      const part = this.configuration.parts.find((candidate) => candidate.name === name);
      const addition: Addition = { what: "document", document: name, path: [], value };
      const ours = this.before.get(identityOf(addition));
      if (!part) this.configuration.parts.push(newPart(name, value));
      else if (ours && sameValue(valueOf(part.document, nodeAt(part.document, [])), ours.value)) {
        if (!sameValue(ours.value, value))
          this.configuration.parts[this.configuration.parts.indexOf(part)] = newPart(name, value);
      } else {
        this.map(part, [], value);
        continue;
      }
      this.additions.push(addition);
    }
  }

  private map(part: Part, path: Step[], wanted: Record<string, unknown>): void {
    for (const [key, value] of Object.entries(wanted)) {
      const here = [...path, key];
      if (isReplaced(part.name, here)) this.scalar(part, path, key, value);
      else if (isMapping(value)) {
        if (this.container(part, path, key, value)) this.map(part, here, value);
      } else if (Array.isArray(value)) {
        if (this.container(part, path, key, value)) this.list(part, here, value);
      } else this.scalar(part, path, key, value);
    }
  }

  private list(part: Part, path: Step[], wanted: unknown[]): void {
    const key = keyOfList(part.name, path);
    for (const value of wanted) {
      const id: unknown = key !== undefined && isMapping(value) ? value[key] : undefined;
      if (key !== undefined && isMapping(value) && (typeof id === "string" || typeof id === "number"))
        this.item(part, path, { key, id: String(id) }, value);
      else this.member(part, path, value);
    }
  }

  /** Makes sure that a mapping or list is there; false when something else is. */
  private container(part: Part, parent: Step[], key: string, wanted: object): boolean {
    const { document } = part;
    const path = [...parent, key];
    const node = nodeAt(document, path);
    const addition: Addition = { what: "container", document: part.name, path };
    const ours = this.before.get(identityOf(addition));
    if (isNothing(node)) {
      setIn(document, parent, key, Array.isArray(wanted) ? [] : {});
      part.changed = true;
      this.additions.push(ours ?? (node === undefined ? addition : { ...addition, old: null }));
      return true;
    }
    if (Array.isArray(wanted) ? isSeq(node) : isMap(node)) {
      if (ours) this.additions.push(ours);
      return true;
    }
    this.conflict(
      path,
      `holds ${isSeq(node) ? "a list" : isMap(node) ? "a mapping" : "a value"} where the patches have ${Array.isArray(wanted) ? "a list" : "a mapping"}`,
    );
    return false;
  }

  private scalar(part: Part, path: Step[], key: string, value: unknown): void {
    const node = nodeAt(part.document, [...path, key]);
    const current = valueOf(part.document, node);
    const addition: Addition = { what: "scalar", document: part.name, path: [...path, key], value };
    const ours = this.before.get(identityOf(addition));
    const holdsMore = (isMap(node) || isSeq(node)) && typeof value !== "object";
    if (holdsMore && !isReplaced(part.name, addition.path))
      this.conflict([...path, key], "holds more than one value where the patches have one");
    else if (node !== undefined && sameValue(current, value)) {
      if (ours) this.additions.push({ ...ours, value });
    } else {
      setIn(part.document, path, key, value);
      part.changed = true;
      // Any other value counts as the owner's newer one. It may be one of ours, from a run whose answer was lost: the two look alike.
      const isOurs = ours !== undefined && node !== undefined && sameValue(current, ours.value);
      const before = isOurs ? ours : node === undefined ? {} : { old: current };
      const old = "old" in before ? { old: before.old } : {};
      this.additions.push({ ...addition, ...old });
    }
  }

  private item(part: Part, path: Step[], step: { key: string; id: string }, value: Record<string, unknown>): void {
    const node = nodeAt(part.document, [...path, step]);
    const addition: Addition = { what: "item", document: part.name, path: [...path, step], value };
    const ours = this.before.get(identityOf(addition));
    const current = valueOf(part.document, node);
    if (node === undefined) {
      appendTo(part.document, path, value);
      part.changed = true;
      this.additions.push(addition);
    } else if (ours && sameValue(current, ours.value)) this.ownItem(part, path, node, addition, ours);
    else if (!isWhole(part.name, path)) this.map(part, [...path, step], value);
    else if (isReplacedItem(part.name, path)) {
      if (!sameValue(current, value)) {
        replaceItem(part.document, path, node, value);
        part.changed = true;
        this.additions.push({ ...addition, old: current });
      } else if (ours) this.additions.push({ ...ours, value });
    } else if (sameFile(current, value)) return;
    else {
      this.conflict(
        addition.path,
        ours
          ? "is the file that an earlier run added, but somebody changed it since"
          : "is there already with other content, and is not ours",
      );
    }
  }

  private ownItem(part: Part, path: Step[], node: Node, addition: Addition, ours: Addition): void {
    if (!sameValue(ours.value, addition.value)) {
      replaceItem(part.document, path, node, addition.value);
      part.changed = true;
    }
    this.additions.push({ ...addition, ...("old" in ours ? { old: ours.old } : {}) });
  }

  private member(part: Part, path: Step[], value: unknown): void {
    const list = nodeAt(part.document, path);
    const addition: Addition = { what: "member", document: part.name, path, value };
    const ours = this.before.get(identityOf(addition));
    if (isSeq(list) && memberOf(part.document, list, value)) {
      if (ours) this.additions.push(ours);
      return;
    }
    appendTo(part.document, path, value);
    part.changed = true;
    this.additions.push(addition);
  }

  private conflict(path: Step[], problem: string): void {
    this.conflicts.push({
      check: "adopted-conflict",
      field: describePath(path),
      problem: `in the machine's own configuration it ${problem}`,
      why: "Talos takes one item per file path and one shape per field; a second one keeps the machine from booting, and overwriting it would lose somebody's work",
      remedy:
        "take it out of the machine's configuration, or out of the stack (for containerd settings: say them in `containerd.extra`)",
    });
  }
}

/** Whether two file items do the same; permissions do not count, Talos ignores them where it matters. */
function sameFile(current: unknown, wanted: Record<string, unknown>): boolean {
  return (
    isMapping(current) &&
    sameValue(current["content"], wanted["content"]) &&
    sameValue(current["op"] ?? "create", wanted["op"] ?? "create")
  );
}

/** Documents are told apart by name, so a document type may be asked for. */
export function hasDocument(configuration: Configuration, name: string): boolean {
  return configuration.parts.some((part: { name: string; document: Document }) => part.name === name);
}
