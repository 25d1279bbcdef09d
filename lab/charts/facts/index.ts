import { readFileSync } from "node:fs";
import * as path from "node:path";
import type { Manifest, OperatorFacts } from "../../../generate/facts/record-operator";

/** The recorded facts. */
export const operatorFacts = JSON.parse(
  readFileSync(path.join(__dirname, "gpu-operator.json"), "utf8"),
) as OperatorFacts;

/**
 * Objects of a release, by `kind/name`.
 *
 * @param release with its `v`
 */
export function recordedObjects(release: string, variant: string): Map<string, Manifest> {
  const recorded = operatorFacts.objects.filter(({ in: places }) =>
    places[release]?.includes(variant),
  );
  const objects = recorded.map(
    ({ object }) => JSON.parse(JSON.stringify(object).replaceAll("VERSION", release)) as Manifest,
  );
  return new Map(objects.map((object) => [`${object.kind}/${object.metadata.name}`, object]));
}
