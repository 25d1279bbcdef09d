import { isAlias, isMap, isScalar, isSeq, type Document } from "yaml";
import {
  kindsOf,
  keysOf,
  mainKind,
  minorsOfKey,
  minorsOfKind,
  structureOfKind,
} from "../facts/talos-schema";
import { asText, isMapping, valueAt } from "../mapping";
import { nearestWord } from "../rules/suggest";
import { remedyFor, shapeFindings, type Dialect, type ShapeFinding, writePath } from "../shape";
import { valueFinding } from "./talos-schema/rules";
import type { ValueFinding } from "./talos-schema/value-rules";
import { misfit } from "./talos-schema/values";

/** A mistake that makes Talos refuse a patch. */
export interface PatchFinding {
  /** Path of the mistake, e.g. `machine.sysctl` or `KmsgLogConfig.url`; empty for a document as a whole. */
  path: string;
  problem: string;
  remedy: string;
}

/** The schema for the check. */
export interface Schema {
  minor: number;
  /**
   * Whether the schema of the machine's Talos minor is known. If not, `minor` is the nearest minor with a known schema,
   * and the check accepts keys and kinds that this schema lacks.
   */
  isKnown: boolean;
}

type Path = readonly (string | number)[];

/**
 * Key by which a patch deletes a part of the configuration (talos,
 * pkg/machinery/config/configloader/internal/decoder/delete.go).
 */
export const patchKey = "$patch";

const flaw = (path: string, problem: string, remedy: string): PatchFinding => ({
  path,
  problem,
  remedy,
});

/** Mistakes that Talos' decoder refuses in a patch's documents; at most ten. */
export function patchFindings(documents: readonly Document[], schema: Schema): PatchFinding[] {
  const documentIds = new Set<string>();
  const flaws = documents.flatMap((document) => {
    const root = plain(document, document.contents);
    if (!isMapping(root)) return []; // The patch's `flaw` reports it.
    const kind = asText(root["kind"]);
    const apiVersion = asText(root["apiVersion"]);
    const name = asText(root["name"]);
    const id = [apiVersion, kind, name].join("/");
    const documentsText =
      kind === "" ? "two documents with machine or cluster" : `two ${kind} ${name}`.trim();
    const repetition = documentIds.has(id)
      ? [flaw("", `has ${documentsText}`, "put them together in one document")]
      : [];
    documentIds.add(id);
    return [
      ...repetition,
      ...(kind === "" && apiVersion === ""
        ? mainFindings(root, schema)
        : documentFindings(root, kind, apiVersion, schema)),
    ];
  });
  return flaws.slice(0, 10);
}

/** A node as plain data, with unresolved merge keys, and with numbers as go-yaml reads them (`1_000`). */
function plain(document: Document, node: unknown): unknown {
  if (isAlias(node)) return plain(document, node.resolve(document));
  if (isSeq(node)) return node.items.map((item) => plain(document, item));
  if (isMap(node))
    return Object.fromEntries(
      node.items.map(({ key, value }) => [
        isScalar(key) ? (key.source ?? asText(key.value)) : "?",
        plain(document, value),
      ]),
    );
  if (!isScalar(node)) return undefined;
  const { value, type } = node;
  return typeof value === "string" && type === "PLAIN" && /^[-+]?\d[\d_]*$/.test(value)
    ? Number(value.replaceAll("_", ""))
    : value;
}

/** Findings about the document with `machine` and `cluster`. */
function mainFindings(root: Record<string, unknown>, schema: Schema): PatchFinding[] {
  const structure = structureOfKind(mainKind, schema.minor)!;
  const keys = keysOf(structure, schema.minor);
  const [first, ...otherKeys] = Object.keys(root);
  if (first === undefined || [first, ...otherKeys].some((key) => keys.has(key) || key === patchKey))
    return structureFindings(root, structure, [], schema);
  const properPlace = [first, ...otherKeys]
    .map((key) => homeOf(key, schema.minor))
    .find((path) => path !== undefined);
  const nearKey = nearestWord(first, ["machine", "cluster"]);
  const remedy = (): string => {
    if (properPlace !== undefined) return `write it under ${properPlace}`;
    if (nearKey !== undefined) return `did you mean "${nearKey}"?`;
    return "put it under machine or cluster, or add the document's apiVersion and kind";
  };
  return [
    flaw(first, "is not a field of Talos' configuration, and the document has no kind", remedy()),
  ];
}

/** Findings about a document with a kind. */
function documentFindings(
  root: Record<string, unknown>,
  kind: string,
  apiVersion: string,
  { minor, isKnown }: Schema,
): PatchFinding[] {
  if (kind === "") return [flaw("", "has an apiVersion but no kind", "add the document's kind")];
  const structure = structureOfKind(kind, minor);
  if (structure !== undefined && kind !== mainKind) {
    if (apiVersion !== "v1alpha1") {
      const versionText =
        apiVersion === "" ? "has no apiVersion" : `has the apiVersion ${apiVersion}`;
      return [flaw("", `(${kind}) ${versionText}`, "write apiVersion: v1alpha1")];
    }
    const documentFinding = valueFinding(kind, minor, root);
    const { kind: _, ...fields } = root;
    const isNameless = keysOf(structure, minor).has("name") && root["name"] === undefined;
    return [
      ...(documentFinding ? [flaw("", ...documentFinding)] : []),
      ...(isNameless ? [flaw(`${kind}.name`, "is missing", "name the document")] : []),
      ...structureFindings(fields, structure, [kind], { minor, isKnown }),
    ];
  }
  const minors = minorsOfKind(kind);
  if (minors && kind !== mainKind) {
    const versionText =
      minor < minors[0]
        ? `Talos 1.${minors[0]} introduced it`
        : `Talos 1.${minors[1]} was the last minor release with it`;
    const remedyText =
      "write its settings under `machine` or `cluster`, e.g. machine.kernel.modules, machine.sysctls or machine.network";
    return [
      flaw("", `is a ${kind}, which Talos 1.${minor} does not have: ${versionText}`, remedyText),
    ];
  }
  const nearKind = nearestWord(kind, kindsOf(minor));
  const remedy =
    nearKind === undefined
      ? "write a kind that Talos knows, because a patch can contain no other document"
      : `did you mean "${nearKind}"?`;
  return isKnown ? [flaw("", `has the kind "${kind}", which Talos does not know`, remedy)] : [];
}

const fileItem = "v1alpha1.MachineFile";

/** Keys of an item of machine.files. This check accepts any value of `op`, because another check verifies it. */
const keysOfFile = (minor: number): Map<string, string> =>
  new Map([...keysOf(fileItem, minor), ["op", "any"]]);

function structureFindings(
  root: Record<string, unknown>,
  structure: string,
  path: Path,
  schema: Schema,
): PatchFinding[] {
  const { minor } = schema;
  const deletionFindings: PatchFinding[] = [];
  const remaining = withoutDeleted(root, path, deletionFindings, true);
  const dialect: Dialect<ValueFinding> = {
    structureOf: (name) => ({
      keys: name === fileItem ? keysOfFile(minor) : keysOf(name, minor),
      open: false,
    }),
    accepts: (value, type) => misfit(value, type) === undefined,
    ruleOf: (field, value) =>
      valueAt(value, patchKey) === undefined ? valueFinding(field, minor, value) : undefined,
  };
  const isInDeletedPart = (fieldPath: Path): boolean =>
    valueAt(remaining, ...fieldPath.slice(0, -1).map(String), patchKey) !== undefined ||
    fieldPath.at(-1) === patchKey;
  return [
    ...deletionFindings,
    ...shapeFindings(remaining, `@${structure}`, dialect)
      .filter(({ path: fieldPath }) => !isInDeletedPart(fieldPath))
      .flatMap((finding) => findingsOf(finding, path, schema)),
  ];
}

/**
 * A value without the parts that a `$patch` deletes. A deleted document or a deleted item of a list stays, together
 * with its `$patch`. The function adds mistakes in a `$patch` to `findings`.
 */
function withoutDeleted(
  value: unknown,
  path: Path,
  findings: PatchFinding[],
  isItem = false,
): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => withoutDeleted(item, [...path, index], findings, true));
  if (!isMapping(value)) return value;
  const entries = Object.entries(value);
  const doubledKey = `$${patchKey}`;
  if (Object.hasOwn(value, doubledKey)) {
    const fieldPath = writePath([...path, doubledKey]);
    findings.push(
      flaw(
        fieldPath,
        "has two dollar signs: talhelper replaces them with one, but Talos does not",
        "write `$patch` with one dollar sign",
      ),
    );
    return undefined;
  }
  if (Object.hasOwn(value, patchKey)) {
    const word = asText(value[patchKey]);
    const itemRemedy = "name the item by its first key, e.g. interface: eth0";
    if (word !== "delete")
      findings.push(
        flaw(
          writePath([...path, patchKey]),
          `is "${word}"`,
          "write `$patch: delete`, the only value that Talos knows",
        ),
      );
    else if (typeof path.at(-1) === "number" && entries.length < 2)
      findings.push(
        flaw(writePath(path), "has `$patch: delete` but does not name the item", itemRemedy),
      );
    if (!isItem) return undefined;
  }
  return Object.fromEntries(
    entries.map(([key, child]) => [key, withoutDeleted(child, [...path, key], findings)]),
  );
}

function findingsOf(
  { path: subPath, flaw: shapeFlaw }: ShapeFinding<ValueFinding>,
  parentPath: Path,
  schema: Schema,
): PatchFinding[] {
  const path = writePath([...parentPath, ...subPath]);
  // A required key may be in the document that Talos merges with the patch, but not in another item of a list.
  if (shapeFlaw === "missing")
    return typeof subPath.at(-2) === "number" ? [flaw(path, "is missing", "add it")] : [];
  if ("unknown" in shapeFlaw) return unknownKey(shapeFlaw.unknown, shapeFlaw.in, path, schema);
  if ("value" in shapeFlaw) {
    const { value, type } = shapeFlaw;
    const types = type.startsWith("(") ? type.slice(1, -1).split(" ") : [type];
    return [flaw(path, misfit(value, types[0]!) ?? "is a single value", remedyFor(value, type))];
  }
  return [flaw(path, ...shapeFlaw)];
}

function unknownKey(
  key: string,
  structure: string,
  path: string,
  { minor, isKnown }: Schema,
): PatchFinding[] {
  const mergeKeyProblem =
    "is a YAML merge key, which Talos accepts only in mappings with arbitrary keys, such as sysctls";
  if (key === "<<") return [flaw(path, mergeKeyProblem, "write the keys out")];
  if (key === "?")
    return [
      flaw(
        path,
        "stands for a key that is a list or a mapping",
        "write a name, or put the key in quotes",
      ),
    ];
  const minors = minorsOfKey(structure, key);
  if (minors) {
    const versionText =
      minor < minors[0]
        ? `exists only from Talos 1.${minors[0]} on`
        : `exists only up to Talos 1.${minors[1]}`;
    return [flaw(path, `is not a field of Talos 1.${minor}: it ${versionText}`, "leave it out")];
  }
  if (!isKnown) return [];
  const nearKey = nearestKey(key, [...keysOf(structure, minor).keys()]);
  const properPlace = nearKey === undefined ? homeOf(key, minor) : undefined;
  const remedy = (): string => {
    if (nearKey !== undefined) return `did you mean "${path.slice(0, -key.length)}${nearKey}"?`;
    if (properPlace !== undefined) return `write it under ${properPlace}`;
    return "leave it out, or move it to the field under which Talos' configuration reference lists it";
  };
  return [flaw(path, "is not a field of Talos' configuration", remedy())];
}

/** The key that a user probably meant: a similar key, or a key with the same beginning or end. */
function nearestKey(key: string, keys: string[]): string | undefined {
  const word = key.toLowerCase();
  const isRelated = (candidate: string): boolean =>
    word.length >= 4 &&
    (candidate.startsWith(word.slice(0, 5)) ||
      candidate.endsWith(word) ||
      word.endsWith(candidate));
  return nearestWord(key, keys) ?? keys.find((candidate) => isRelated(candidate.toLowerCase()));
}

/** Structures in which the check looks for a misplaced field, with their paths. */
const homes = {
  MachineConfig: "machine",
  ClusterConfig: "cluster",
  KubeletConfig: "machine.kubelet",
  NetworkConfig: "machine.network",
};

/** The right path of a misplaced field; undefined if it is unknown. */
const homeOf = (key: string, minor: number): string | undefined =>
  Object.entries(homes).find(([structure]) => keysOf(`v1alpha1.${structure}`, minor).has(key))?.[1];
