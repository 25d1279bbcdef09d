import { isMap, isScalar, isSeq, type Node, type YAMLMap } from "yaml";
import { keysOf, type TypeText } from "../facts/talos-schema";
import { closest } from "../rules/suggest";
import { scalarFlaw } from "./talos-schema/values";
import { asText } from "./user-patches";

function said(node: Node): string {
  return isMap(node) ? "is a mapping" : isSeq(node) ? "is a list" : "is a single value";
}

/** What a scalar says, as it was written; undefined of anything else. */
export function textOf(node: unknown): string | undefined {
  if (!isScalar(node)) return undefined;
  return typeof node.value === "string" ? node.value : (node.source ?? asText(node.value));
}

/** What a mapping's key says. */
export function textAt(map: YAMLMap, key: string): string | undefined {
  return textOf(map.get(key, true));
}

/** The key that was probably meant: a near one, or one that has the word in it. */
export function nearest(key: string, keys: string[]): string | undefined {
  const word = key.toLowerCase();
  const related = (other: string): boolean =>
    word.length >= 4 && (other.startsWith(word.slice(0, 5)) || other.endsWith(word) || word.endsWith(other));
  return closest(key, keys) ?? keys.find((other) => related(other.toLowerCase()));
}

/** What is wrong with a value's shape, e.g. `is a list`; undefined where it has the type. */
export function shapeFlaw(node: Node, type: TypeText): string | undefined {
  const wants = type.startsWith("(") ? type.slice(1, -1).split(" ") : [type];
  const flaws = wants.map((want) => {
    if (want === "any") return undefined;
    if (want === "object" || want.startsWith("@") || want.startsWith("{")) return isMap(node) ? undefined : said(node);
    if (want.startsWith("[")) return isSeq(node) ? undefined : said(node);
    return isScalar(node) ? scalarFlaw(node, want) : said(node);
  });
  return flaws.some((flaw) => flaw === undefined) ? undefined : flaws[0];
}

/** Where a field stands that was written elsewhere; undefined where nobody knows. */
export function homeOf(key: string, minor: number): string | undefined {
  const has = (structure: string): boolean => keysOf(structure, minor).has(key);
  if (has("v1alpha1.MachineConfig")) return "machine";
  if (has("v1alpha1.ClusterConfig")) return "cluster";
  if (has("v1alpha1.KubeletConfig")) return "machine.kubelet";
  if (has("v1alpha1.NetworkConfig")) return "machine.network";
  return undefined;
}
