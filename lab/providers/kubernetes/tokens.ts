import type { Properties } from "../provider";
import { isMap, UNKNOWN } from "../values";
import type { KubernetesObject } from "./api";

/** Type of a Helm release. */
export const releaseType = "kubernetes:helm.sh/v3:Release";

/** What a type token names. */
export interface Token {
  readonly apiVersion: string;
  readonly kind: string;
  /** Whether it sets some fields of an object that somebody else owns. */
  readonly patch: boolean;
}

/**
 * Reads `kubernetes:<group/version>:<Kind>`. The core group is written `core/v1`, and a `Patch` suffix names the kind in
 * front of it (pulumi-kubernetes provider/pkg/kinds). Error: a type that the lab does not have.
 */
export function parseToken(type: string): Token {
  const [, group = "", kind = ""] = type.split(":");
  const unsupported = group.startsWith("helm.sh") || group.startsWith("yaml") || group.startsWith("kustomize");
  if (!group.includes("/") || unsupported || kind.endsWith("List"))
    throw new Error(`${type}: the lab's kubernetes provider has objects, their patches and ${releaseType}, not this`);
  return {
    apiVersion: group.replace(/^core\//, ""),
    kind: kind.replace(/Patch$/, ""),
    patch: kind.endsWith("Patch"),
  };
}

/** The object that inputs describe. */
export function objectOf(token: Token, inputs: Properties): KubernetesObject {
  const own = Object.entries(inputs).filter(([key]) => !key.startsWith("__"));
  return {
    apiVersion: token.apiVersion,
    kind: token.kind,
    ...(Object.fromEntries(own) as KubernetesObject),
  };
}

/** Identity of an object: `namespace/name`, or `name` of one without a namespace. */
export function idOf({ metadata }: KubernetesObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : (metadata?.name ?? "");
}

/** How messages call an object, e.g. `Deployment gpu/ollama`. */
export const title = (object: KubernetesObject): string => `${object.kind} ${idOf(object)}`;

const metadataOf = (inputs: Properties): Properties => (isMap(inputs["metadata"]) ? inputs["metadata"] : {});

/** Value of an annotation, e.g. `pulumi.com/skipAwait`. */
export function annotation(inputs: Properties, name: string): string | undefined {
  const annotations = metadataOf(inputs)["annotations"];
  const value = isMap(annotations) ? annotations[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

const autonamed = "pulumi.com/autonamed";

/**
 * Names an object that has no name: the resource's name and eight hexadecimal digits, kept over updates and marked by an
 * annotation (pulumi-kubernetes provider/pkg/metadata/naming.go).
 */
export function withName(inputs: Properties, olds: Properties, name: string, seed: Uint8Array): Properties {
  const metadata = metadataOf(inputs);
  if (metadata["name"] || metadata["generateName"]) return inputs;
  const old = annotation(olds, autonamed) === "true" ? metadataOf(olds)["name"] : undefined;
  const generated = old ?? `${name}-${Buffer.from(seed.subarray(0, 4)).toString("hex")}`;
  const annotations = isMap(metadata["annotations"]) ? metadata["annotations"] : {};
  return {
    ...inputs,
    metadata: { ...metadata, name: generated, annotations: { ...annotations, [autonamed]: "true" } },
  };
}

/** Whether the object has a name of its own that a replacement would need too. */
export function keepsName(olds: Properties, news: Properties): boolean {
  const [before, after] = [metadataOf(olds), metadataOf(news)];
  const fixed = annotation(news, autonamed) !== "true" && after["name"] !== UNKNOWN;
  return fixed && before["name"] === after["name"] && namespace(before) === namespace(after);
}

const namespace = (metadata: Properties): unknown => metadata["namespace"] || "default";

/** The live values of the fields that `inputs` has, so that a refresh shows drift and not defaults. */
export function sameFields(inputs: unknown, live: unknown): unknown {
  if (typeof inputs !== "object" || inputs === null || typeof live !== "object" || live === null) return live;
  if (Array.isArray(inputs) || Array.isArray(live)) {
    if (!Array.isArray(inputs) || !Array.isArray(live) || inputs.length !== live.length) return live;
    return live.map((item, index) => sameFields(inputs[index], item));
  }
  const at = live as Properties;
  return Object.fromEntries(
    Object.entries(inputs)
      .map(([key, value]) => [key, key.startsWith("__") ? value : sameFields(value, at[key])] as const)
      .filter(([, value]) => value !== undefined),
  );
}

const serverFields = ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"];

/** The inputs that an object would have been made with, as far as it tells: without what the API server adds. */
export function importable({ status: _status, ...live }: KubernetesObject): Properties {
  const metadata = Object.entries(live.metadata ?? {}).filter(([key]) => !serverFields.includes(key));
  return { ...live, metadata: Object.fromEntries(metadata) };
}
