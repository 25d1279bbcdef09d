import type { TomlValue } from "smol-toml";
import { capabilitiesOf } from "../../facts/talos-release";
import { customizationPath, isTable, parseToml } from "./containerd";

/**
 * Path of containerd's configuration, which Talos merges from its own settings, those of extensions, and those in the
 * machine's configuration.
 */
export const mergedConfigurationPath = "/etc/cri/conf.d/cri.toml";

/**
 * Name under which Talos ≥ 1.14 merges the containerd settings of `machine.files`. Talos merges in the order of the
 * names, so a CRICustomizationConfig with a later name wins (talos v1.14.1,
 * internal/app/machined/pkg/controllers/files/cri_config.go: `20-NAME.part`, in lexical order).
 */
export const legacyCustomization = "customization";

/**
 * Whether a release merges the containerd settings of `machine.files` in memory (Talos ≥ 1.14). If `machine.files` has
 * their path twice, such a release uses only the first item.
 */
export const mergesInMemory = (talosVersion: string): boolean =>
  capabilitiesOf(talosVersion).documents;

/** Path of the file on a machine that shows whether the machine's containerd settings are in effect. */
export const containerdEvidence = (talosVersion: string): string =>
  mergesInMemory(talosVersion) ? mergedConfigurationPath : customizationPath;

/**
 * Containerd settings of a machine's configuration that Talos ≥ 1.14 has merged: the name and the SHA-256 of each, in
 * the order of the merge.
 */
export const customizationsIn = (merged: string): { name: string; sha256: string }[] =>
  [...merged.matchAll(/^## in-memory customization "([^"]*)" \(sha256:([0-9a-f]*)\)$/gm)].map(
    ([, name = "", sha256 = ""]) => ({ name, sha256 }),
  );

/**
 * Reason why the machine's containerd settings (`part`) have no effect.
 *
 * @param content content of `containerdEvidence` on the machine; undefined if the file is missing.
 * @returns undefined if the settings are in effect.
 */
export function containerdProblem(
  talosVersion: string,
  part: string,
  content: string | undefined,
): string | undefined {
  const evidence = containerdEvidence(talosVersion);
  if (evidence === customizationPath)
    return content?.trim() === part.trim() ? undefined : `${evidence} is not as configured`;
  if (content === undefined) return `${evidence} is missing`;
  const missing = missingKeys(content, part);
  if (missing.length === 0) return undefined;
  const laterCustomizations = customizationsIn(content)
    .map(({ name }) => name)
    .filter((name) => name > legacyCustomization);
  const rivalNames = laterCustomizations.map((name) => `CRICustomizationConfig ${name}`).join(", ");
  const why =
    laterCustomizations.length === 0
      ? ""
      : `. ${rivalNames} may override these keys, because Talos merges these settings in the order of the names`;
  return `${evidence} lacks ${missing.join(", ")}${why}`;
}

/**
 * Dotted keys of `part` whose values `configuration` lacks. A list in `configuration` may have more items, because
 * Talos joins lists.
 */
export function missingKeys(configuration: string, part: string): string[] {
  return missingPaths(parseToml(configuration).table ?? {}, parseToml(part).table ?? {}, "");
}

function missingPaths(actual: TomlValue | undefined, planned: TomlValue, path: string): string[] {
  if (isTable(planned)) {
    return Object.entries(planned).flatMap(([key, value]) => {
      const name = /^[\w-]+$/.test(key) ? key : `"${key}"`;
      return missingPaths(
        isTable(actual) ? actual[key] : undefined,
        value,
        path === "" ? name : `${path}.${name}`,
      );
    });
  }
  const actualItems = new Set(Array.isArray(actual) ? actual : []);
  const isPresent = Array.isArray(planned)
    ? Array.isArray(actual) && planned.every((item) => actualItems.has(item))
    : actual === planned;
  return isPresent ? [] : [path];
}
