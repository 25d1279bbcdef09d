import { closedBy } from "./data/escapes.json";
import { driverRows } from "./talos-release";
import { compareDotted } from "./version";

/** Published container escapes in a release of NVIDIA's container toolkit. */
export const escapesOf = (toolkit: string): string[] =>
  Object.entries<string[]>(closedBy).flatMap(([closing, cves]) =>
    compareDotted(toolkit, closing) < 0 ? cves : [],
  );

/**
 * The first Talos release whose toolkit is not older than this toolkit and has no published container escapes. Such a
 * release always exists: the toolkits of the newest releases in the tables have no published escapes.
 */
export function firstTalosWithout(toolkit: string): string {
  const { minor, from } = driverRows.find(
    (row) =>
      row.toolkit !== undefined &&
      compareDotted(row.toolkit, toolkit) >= 0 &&
      escapesOf(row.toolkit).length === 0,
  )!;
  return `v1.${minor}.${from}`;
}
