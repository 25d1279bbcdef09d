import { isAlias, isMap, isScalar, isSeq, type Document, type Node, type Pair, type YAMLMap } from "yaml";
import {
  kindsOf,
  keysOf,
  mainKind,
  minorsOfKey,
  minorsOfKind,
  structureOfKind,
  type TypeText,
} from "../facts/talos-schema";
import { closest } from "../rules/suggest";
import { homeOf, nearest, shapeFlaw, textAt, textOf } from "./patch-nodes";
import { describe } from "./talos-schema/values";
import { valueFlaw } from "./talos-schema/rules";

/** Something in a patch that Talos does not take. */
export interface PatchFlaw {
  /** Where it stands, e.g. `machine.sysctl` or `KmsgLogConfig.url`; empty for a document as a whole. */
  path: string;
  problem: string;
  remedy: string;
}

/** The schema that judges. */
export interface Schema {
  minor: number;
  /** Whether it is the release's own. Where it is only the nearest one, keys and kinds that it lacks are let be. */
  isKnown: boolean;
}

/** What Talos does not take in a patch's documents, as its decoder judges them; at most ten things. */
export function patchFlaws(documents: Document[], schema: Schema): PatchFlaw[] {
  const judge = new Judge(schema);
  for (const document of documents) judge.document(document);
  return judge.flaws.slice(0, 10);
}

/** Key by which a patch deletes (talos, pkg/machinery/config/configloader/internal/decoder/delete.go). */
export const patchKey = "$patch";

class Judge {
  public readonly flaws: PatchFlaw[] = [];
  private readonly seen = new Set<string>();
  private current!: Document;

  constructor(private readonly schema: Schema) {}

  public document(document: Document): void {
    this.current = document;
    const root = this.resolved(document.contents);
    if (root === undefined || (isScalar(root) && root.value === null)) return;
    if (!isMap(root)) return; // told by the patch's `flaw`
    const [kind, apiVersion] = [textAt(root, "kind"), textAt(root, "apiVersion")];
    const id = [apiVersion ?? "", kind ?? "", textAt(root, "name") ?? ""].join("/");
    if (this.seen.has(id)) this.repeated(kind, textAt(root, "name"));
    this.seen.add(id);
    if (kind === undefined && apiVersion === undefined) this.main(root);
    else this.named(root, kind, apiVersion);
  }

  /** The document with `machine` and `cluster`. */
  private main(root: YAMLMap): void {
    const keys = [...keysOf(structureOfKind(mainKind, this.schema.minor)!, this.schema.minor).keys()];
    const has = root.items.map(({ key }) => textOf(key) ?? "");
    if (has.length > 0 && !has.some((key) => keys.includes(key)) && !has.includes(patchKey)) {
      const home = has.map((key) => homeOf(key, this.schema.minor)).find((path) => path !== undefined);
      const near = closest(has[0]!, ["machine", "cluster"]);
      this.flaw(
        has[0]!,
        "is not a field of a configuration, and the document names no kind",
        home !== undefined
          ? `write it under ${home}`
          : near !== undefined
            ? `did you mean "${near}"?`
            : "put it under machine or cluster, or name the document's apiVersion and kind",
      );
      return;
    }
    this.structure(root, structureOfKind(mainKind, this.schema.minor)!, "");
  }

  private named(root: YAMLMap, kind: string | undefined, apiVersion: string | undefined): void {
    if (kind === undefined) return this.flaw("", "has an apiVersion and no kind", "name its kind");
    const structure = structureOfKind(kind, this.schema.minor);
    if (structure === undefined || kind === mainKind) return this.unknownKind(kind);
    if (apiVersion !== "v1alpha1") {
      const problem =
        apiVersion === undefined ? `(${kind}) names no apiVersion` : `(${kind}) has the apiVersion ${apiVersion}`;
      this.flaw("", problem, "write apiVersion: v1alpha1");
      return;
    }
    const flaw = valueFlaw(kind, this.schema.minor, () => root.toJS(this.current) as unknown);
    if (flaw) this.flaw("", ...flaw);
    this.structure(root, structure, kind, true);
  }

  private unknownKind(kind: string): void {
    const minors = minorsOfKind(kind);
    if (minors && kind !== mainKind) {
      const [from, to] = minors;
      const when = this.schema.minor < from ? `it came with 1.${from}` : `it went after 1.${to}`;
      return this.flaw(
        "",
        `is a ${kind}, which Talos 1.${this.schema.minor} does not have: ${when}`,
        "write it under machine or cluster, e.g. machine.kernel.modules, machine.sysctls or machine.network",
      );
    }
    if (!this.schema.isKnown) return;
    const near = closest(kind, kindsOf(this.schema.minor));
    this.flaw(
      "",
      `has the kind "${kind}", which Talos does not know`,
      near === undefined ? "write a kind of Talos' own; nothing else can stand in a patch" : `did you mean "${near}"?`,
    );
  }

  private repeated(kind: string | undefined, name: string | undefined): void {
    const what = kind === undefined ? "two documents with machine or cluster" : `two ${kind} ${name ?? ""}`.trim();
    this.flaw("", `has ${what}`, "put them together in one document");
  }

  private structure(map: YAMLMap, structure: string, path: string, isDocument = false): void {
    const keys = keysOf(structure, this.schema.minor);
    const deletes = this.checkDelete(map, path);
    for (const pair of map.items) {
      const key = this.keyOf(pair, path);
      if (key === undefined || key === patchKey || (isDocument && key === "kind")) continue;
      const here = path === "" ? key : `${path}.${key}`;
      const type = keys.get(key);
      if (type === undefined) this.unknownKey(structure, key, here, keys);
      else this.value(pair.value, type.replace(/^!/, ""), here, `${structure}.${key}`);
    }
    if (deletes || path === "") return;
    if (isDocument && keys.has("name") && !map.has("name"))
      this.flaw(`${path}.name`, "is missing", "name the document");
    // A document may be merged into one that is there; the item of a list stands alone.
    const isItem = path.endsWith("]");
    for (const [key, type] of keys) {
      const isMissing = type.startsWith("!") && !map.has(key);
      if (isMissing && isItem) this.flaw(`${path}.${key}`, "is missing", "write it");
    }
  }

  private unknownKey(structure: string, key: string, path: string, keys: Map<string, TypeText>): void {
    if (key === "<<") {
      return this.flaw(
        path,
        "is a YAML merge key, which Talos takes only in mappings whose names you choose",
        "write the keys out",
      );
    }
    const minors = minorsOfKey(structure, key);
    if (minors) {
      const [from, to] = minors;
      const when = this.schema.minor < from ? `comes with Talos 1.${from}` : `went after Talos 1.${to}`;
      return this.flaw(path, `is not a field of Talos 1.${this.schema.minor}: it ${when}`, "leave it out");
    }
    if (!this.schema.isKnown) return;
    const near = nearest(key, [...keys.keys()]);
    const home = near === undefined ? homeOf(key, this.schema.minor) : undefined;
    const parent = path.slice(0, -key.length - 1);
    this.flaw(
      path,
      "is not a field of Talos' configuration",
      near !== undefined
        ? `did you mean "${parent === "" ? near : `${parent}.${near}`}"?`
        : home !== undefined
          ? `write it under ${home}`
          : "leave it out, or write it where Talos' reference of the configuration has it",
    );
  }

  private value(given: unknown, type: TypeText, path: string, field: string): void {
    const node = this.resolved(given);
    if (node === undefined || (isScalar(node) && node.value === null)) return;
    // The check of machine.files judges the operation.
    if (field === "v1alpha1.MachineFile.op") return;
    // A list or a value can be deleted as well as a mapping.
    if (isMap(node) && node.has(patchKey) && !path.endsWith("]") && this.checkDelete(node, path)) return;
    const problem = shapeFlaw(node, type);
    if (problem !== undefined) return this.flaw(path, problem, `write ${describe(type)}`);
    const more =
      isMap(node) && node.has(patchKey)
        ? undefined
        : valueFlaw(field, this.schema.minor, () => node.toJS(this.current) as unknown);
    if (more !== undefined) return this.flaw(path, ...more);
    if (type.startsWith("@") && isMap(node)) this.structure(node, type.slice(1), path);
    else if (type.startsWith("[") && isSeq(node)) {
      node.items.forEach((item, index) => this.value(item, type.slice(1), `${path}[${index}]`, `${field}[]`));
    } else if (type.startsWith("{") && isMap(node)) this.names(node, type.slice(1), path, field);
  }

  /** A mapping of names of the user's own. */
  private names(map: YAMLMap, type: TypeText, path: string, field: string): void {
    this.checkDelete(map, path);
    for (const pair of map.items) {
      const key = this.keyOf(pair, path);
      if (key === undefined || key === patchKey) continue;
      if (key === "<<") {
        const merged = this.resolved(pair.value);
        if (isMap(merged)) this.names(merged, type, path, field);
      } else this.value(pair.value, type, `${path}.${key}`, `${field}{}`);
    }
  }

  /** Whether a mapping deletes what it names. */
  private checkDelete(map: YAMLMap, path: string): boolean {
    if (!map.has(patchKey)) return false;
    const value = textAt(map, patchKey);
    if (value !== "delete") {
      this.flaw(
        path === "" ? patchKey : `${path}.${patchKey}`,
        `is "${value ?? ""}"`,
        "Talos knows no `$patch` but `delete`",
      );
    } else if (path.endsWith("]") && map.items.length < 2) {
      this.flaw(
        path,
        "says `$patch: delete` but not of which item",
        "name the item by its first key, e.g. interface: eth0",
      );
    }
    return true;
  }

  private keyOf(pair: Pair, path: string): string | undefined {
    const key = textOf(this.resolved(pair.key));
    if (key === undefined) this.flaw(path, "has a key that is no text", "write a name");
    return key;
  }

  private resolved(node: unknown): Node | undefined {
    return (isAlias(node) ? node.resolve(this.current) : (node ?? undefined)) as Node | undefined;
  }

  private flaw(path: string, problem: string, remedy: string): void {
    this.flaws.push({ path, problem, remedy });
  }
}
