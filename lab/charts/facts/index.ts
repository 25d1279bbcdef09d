import { readFileSync } from "node:fs";
import * as path from "node:path";

/** A Kubernetes object. */
export interface Manifest {
  kind: string;
  metadata: { name: string };
  [key: string]: unknown;
}

/** What the real chart of the GPU Operator renders to, as recorded by record.ts. */
export interface OperatorFacts {
  source: string;
  /** Values that it was rendered with, by name; release and namespace were `it` and `gpu`. */
  variants: Record<string, object>;
  /** Each object with the variants, by release, that it is in. `VERSION` stands for the release. */
  objects: { in: Record<string, string[]>; object: Manifest }[];
  /** Custom resource definitions that it brings, without their schemas. */
  definitions: {
    releases: string[];
    name: string;
    group: string;
    scope: string;
    names: Record<string, unknown>;
    versions: { name: string; served: boolean; storage: boolean; subresources: string[] }[];
  }[];
}

/** The recorded facts. */
export const operatorFacts = JSON.parse(
  readFileSync(path.join(__dirname, "gpu-operator.json"), "utf8"),
) as OperatorFacts;

/** Objects of a release (with its `v`), by `kind/name`. */
export function recordedObjects(release: string, variant: string): Map<string, Manifest> {
  const found = operatorFacts.objects.filter(({ in: places }) => places[release]?.includes(variant));
  const named = found.map(
    ({ object }) => JSON.parse(JSON.stringify(object).replaceAll("VERSION", release)) as Manifest,
  );
  return new Map(named.map((object) => [`${object.kind}/${object.metadata.name}`, object]));
}
