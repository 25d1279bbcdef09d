import { valueAt } from "../mapping";
import type { FindingText } from "../rules/finding";
import { talosDocuments, valueOfDocument } from "../rules/yaml";
import { multipath } from "./data/since.json";
import { parseTalosVersion } from "./version";

/** Whether a document configures multipathd as releases before Talos 1.15 want it. */
export const configuresMultipath = (value: unknown): boolean =>
  valueAt(value, "kind") === "ExtensionServiceConfig" &&
  valueAt(value, "name") === multipath.service;

/** Whether multipathd of a release waits forever with such a document. */
export const refusesMultipath = (talosVersion: string): boolean =>
  (parseTalosVersion(talosVersion)?.minor ?? 0) >= multipath.since;

/**
 * Mistake of a machine's configuration in force, before an image of a new release.
 *
 * @param extensions of that image.
 */
export function multipathFinding(
  configuration: string,
  talosVersion: string,
  extensions: readonly string[],
): FindingText | undefined {
  if (!refusesMultipath(talosVersion) || !extensions.includes(multipath.extension))
    return undefined;
  if (!talosDocuments(configuration).map(valueOfDocument).some(configuresMultipath))
    return undefined;
  return {
    problem: `has an ExtensionServiceConfig for ${multipath.service}, and the machine gets Talos ${talosVersion} with the extension multipath-tools`,
    why: `from Talos 1.${multipath.since} on the service waits forever with it, and the boot does not end`,
    remedy:
      "take that document out, and write the file by an EtcFileConfig with the name multipath.conf, which Talos has from 1.14 on",
  };
}
