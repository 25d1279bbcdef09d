import { valueAt } from "../mapping";
import type { FindingText } from "../rules/finding";
import { talosDocuments, valueOfDocument } from "../rules/yaml";
import { multipath } from "./data/since.json";
import { parseTalosVersion } from "./version";

/** Whether a document is the ExtensionServiceConfig by which Talos before 1.15 configures multipathd. */
export const configuresMultipath = (value: unknown): boolean =>
  valueAt(value, "kind") === "ExtensionServiceConfig" &&
  valueAt(value, "name") === multipath.service;

/**
 * Whether multipathd of a Talos release waits forever if the configuration has the document of `configuresMultipath`.
 */
export const refusesMultipath = (talosVersion: string): boolean =>
  (parseTalosVersion(talosVersion)?.minor ?? 0) >= multipath.since;

/**
 * Finding for a machine's current configuration if multipathd of the next image would not start with this
 * configuration.
 *
 * @param extensions the extensions of the next image.
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
    why: `from Talos 1.${multipath.since} on, this document makes the service wait forever, and the boot does not end`,
    remedy:
      "replace this document with an EtcFileConfig named multipath.conf, which Talos supports from 1.14 on",
  };
}
