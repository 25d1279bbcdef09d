import type { TomlValue } from "smol-toml";
import { capabilitiesOf } from "../../facts/talos-release";
import { customizationPath, isTable, parseToml } from "./containerd";

/**
 * containerd's configuration as Talos merges it from its own part, the parts of extensions, and the part in
 * the machine's configuration.
 */
export const mergedConfigurationPath = "/etc/cri/conf.d/cri.toml";

/**
 * Name under which Talos ≥ 1.14 merges the part of `machine.files`. Talos merges in the order of the names, so a
 * CRICustomizationConfig with a later name wins (talos v1.14.1,
 * internal/app/machined/pkg/controllers/files/cri_config.go: `20-NAME.part`, in lexical order).
 */
export const legacyCustomization = "customization";

/** Whether a release merges containerd's part without a file, and uses the first of two parts (Talos ≥ 1.14). */
export const mergesInMemory = (talosVersion: string): boolean =>
  capabilitiesOf(talosVersion).documents;

/** Path of the file on a machine that shows the effect of its containerd part. */
export const containerdEvidence = (talosVersion: string): string =>
  mergesInMemory(talosVersion) ? mergedConfigurationPath : customizationPath;

/** The machine's containerd parts that Talos ≥ 1.14 has merged, in their order, each with its SHA-256. */
export const customizationsIn = (merged: string): { name: string; sha256: string }[] =>
  [...merged.matchAll(/^## in-memory customization "([^"]*)" \(sha256:([0-9a-f]*)\)$/gm)].map(
    ([, name = "", sha256 = ""]) => ({ name, sha256 }),
  );

/**
 * Reason why a part of containerd's configuration has no effect.
 *
 * @param content content of `containerdEvidence` on the machine; undefined if the file is missing.
 * @returns undefined if the part is in effect.
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
      : `. ${rivalNames} may override these keys, because Talos merges the parts in the order of their names`;
  return `${evidence} lacks ${missing.join(", ")}${why}`;
}

/**
 * Dotted keys of a part whose values a configuration lacks. A list in the configuration may have further items, since
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
