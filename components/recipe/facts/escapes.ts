import { closedBy } from "./data/escapes.json";
import { driverRows } from "./talos-release";
import { compareDotted } from "./version";

/** Published container escapes that a release of NVIDIA's container toolkit has. */
export const escapesOf = (toolkit: string): string[] =>
  Object.entries<string[]>(closedBy).flatMap(([closing, cves]) =>
    compareDotted(toolkit, closing) < 0 ? cves : [],
  );

/** The first Talos release after those with a toolkit, whose own has none of them; undefined where the tables know none. */
export function firstTalosWithout(toolkit: string): string | undefined {
  const row = driverRows.find(
    (one) =>
      one.toolkit !== undefined &&
      compareDotted(one.toolkit, toolkit) >= 0 &&
      escapesOf(one.toolkit).length === 0,
  );
  return row && `v1.${row.minor}.${row.from}`;
}

/** What a user should know of the toolkit that a Talos release brings; undefined where nothing of the kind is published. */
export function escapesInWords(
  talosVersion: string,
  toolkit: string | undefined,
): string | undefined {
  const escapes = toolkit === undefined ? [] : escapesOf(toolkit);
  if (toolkit === undefined || escapes.length === 0) return undefined;
  const repairing = firstTalosWithout(toolkit);
  const remedy =
    repairing === undefined ? "" : `; Talos ${repairing} and newer releases bring a repaired one`;
  return `the container toolkit ${toolkit} of Talos ${talosVersion} has published container escapes (${escapes.join(", ")}): an image that means harm takes over the machine${remedy}`;
}
