import type { TomlTable, TomlValue } from "smol-toml";
import { asText, isMapping, listAt, mappingAt, valueAt } from "../../mapping";
import { mainDocument } from "../../merge/documents";
import { customizationPath, isTable, parseToml } from "../containerd/containerd";
import { legacyCustomization } from "../containerd/effective";

/** A setting with different values in two places of a configuration. Talos silently uses one of the values. */
export interface Override {
  /** The setting, e.g. `vm.swappiness`. */
  key: string;
  /** The place whose value takes effect, and the other place. */
  wins: string;
  loses: string;
}

/**
 * Settings whose value in a separate document differs from their value in a field of `machine`. Talos uses the
 * document's value (talos v1.14.1, config/container/container.go; seen on Talos v1.14.1). If there is a document for
 * udev rules, Talos ignores the whole field `machine.udev`.
 *
 * @param documents by name: `config` for the document with machine and cluster, else `kind` or `kind/name`.
 */
export function fieldOverrides(documents: ReadonlyMap<string, unknown>): Override[] {
  const main = documents.get(mainDocument);
  const paramOverrides = [
    ["SysctlConfig", "sysctls"],
    ["SysfsConfig", "sysfs"],
  ].flatMap(([wins = "", field = ""]) => {
    const params = mappingAt(documents.get(wins), "params");
    return Object.entries(mappingAt(main, "machine", field))
      .filter(([key, value]) => key in params && asText(params[key]) !== asText(value))
      .map(([key]) => ({ key, wins, loses: `machine.${field}` }));
  });
  const moduleOverrides = listAt(main, "machine", "kernel", "modules").flatMap((module) => {
    const name = asText(module["name"]);
    const wins = `KernelModuleConfig/${name}`;
    const document = documents.get(wins);
    const parametersOf = (value: unknown): string =>
      JSON.stringify(valueAt(value, "parameters") ?? []);
    if (document === undefined || parametersOf(document) === parametersOf(module)) return [];
    return [{ key: `parameters of ${name}`, wins, loses: "machine.kernel.modules" }];
  });
  const udevRules = valueAt(main, "machine", "udev", "rules");
  const udevOverrides =
    documents.has("UdevRulesConfig") && Array.isArray(udevRules) && udevRules.length > 0
      ? [{ key: "rules", wins: "UdevRulesConfig", loses: "machine.udev" }]
      : [];
  return [...paramOverrides, ...moduleOverrides, ...udevOverrides];
}

/** Settings for containerd in one place of a machine's configuration. */
interface Customization {
  name: string;
  /** Name of the place in messages. */
  words: string;
  table: TomlTable;
}

/**
 * Settings of containerd that have different values in two places of a configuration. Talos uses the value of the place
 * whose name is later in the alphabet (see `legacyCustomization`).
 *
 * @param part text of the stack's own containerd settings. If it is undefined, the function takes the file with
 * containerd's settings in `machine.files`.
 */
export function containerdOverrides(
  documents: ReadonlyMap<string, unknown>,
  part?: string,
): Override[] {
  const all = customizationsOf(documents, part).sort((a, b) => (a.name < b.name ? -1 : 1));
  return all.flatMap((later, index) =>
    all.slice(0, index).flatMap((earlier) =>
      clashes(earlier.table, later.table, "").map((key) => ({
        key,
        wins: later.words,
        loses: earlier.words,
      })),
    ),
  );
}

/** Name of the containerd settings in `machine.files`, for messages. */
export const ownPart = "containerd's part in machine.files";

function customizationsOf(documents: ReadonlyMap<string, unknown>, part?: string): Customization[] {
  const files = listAt(documents.get(mainDocument), "machine", "files");
  const legacy = part ?? files.find(({ path }) => path === customizationPath)?.["content"];
  const named = [...documents.values()].filter(
    (value) => valueAt(value, "kind") === "CRICustomizationConfig",
  );
  return [
    ...(typeof legacy === "string"
      ? [{ name: legacyCustomization, words: ownPart, toml: legacy }]
      : []),
    ...named.filter(isMapping).map((value) => {
      const name = asText(value["name"]);
      return { name, words: `CRICustomizationConfig ${name}`, toml: asText(value["content"]) };
    }),
  ].map(({ name, words, toml }) => ({ name, words, table: parseToml(toml).table ?? {} }));
}

/** Dotted keys that both tables set to different values. Lists never differ, since Talos joins them. */
function clashes(earlier: TomlTable, later: TomlTable, path: string): string[] {
  return Object.entries(later).flatMap(([key, value]): string[] => {
    const earlierValue: TomlValue | undefined = earlier[key];
    const keyPath = path === "" ? key : `${path}.${/^[\w-]+$/.test(key) ? key : `"${key}"`}`;
    if (earlierValue === undefined) return [];
    if (isTable(earlierValue) && isTable(value)) return clashes(earlierValue, value, keyPath);
    return earlierValue === value || (Array.isArray(earlierValue) && Array.isArray(value))
      ? []
      : [keyPath];
  });
}
