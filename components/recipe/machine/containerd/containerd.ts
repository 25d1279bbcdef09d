import { parse, stringify, TomlError, type TomlTable } from "smol-toml";
import { defined, isMapping } from "../../mapping";
import { remembering } from "../../memory";
import type { ContainerdSpec } from "../../spec/index";
import type { Injection } from "../../types";

/**
 * Path of the item in `machine.files` with containerd's settings. No other item may contain settings of containerd.
 * Talos up to 1.13 writes this file; later releases merge the item's content in memory, as they do with
 * CRICustomizationConfig documents (talos v1.14.1, pkg/machinery/config/types/v1alpha1/v1alpha1_cri_bridge.go). Source:
 * talos, pkg/machinery/constants, CRICustomizationConfigPart.
 */
export const customizationPath = "/etc/cri/conf.d/20-customization.part";

/** Name of the CRI runtime plugin in containerd's configuration of version 3 (Talos ≥ 1.8). */
export const runtimePlugin = "io.containerd.cri.v1.runtime";

/** Folders in which containerd looks for CDI specifications by default. Source: containerd 2, internal/cri/config. */
const containerdCdiDirs = ["/etc/cdi", "/var/run/cdi"];

/** Path of Talos' base OCI specification, which Talos sets only for `runc`. Source: talos, hack/cri-plugin.part. */
export const baseSpec = "/etc/cri/conf.d/base-spec.json";

/**
 * Composes the TOML that the stack adds to a machine's containerd configuration: one fragment for each option. The
 * function drops `version`, because it would overwrite Talos' own value. `toml` is undefined if no option is set.
 * `error` is set if `extra` is not TOML. `conflicts` are dotted keys that two fragments set to different values; the
 * later fragment wins.
 */
export const containerdPart = remembering((spec: ContainerdSpec = {}, injection: Injection) => {
  const conflicts: string[] = [];
  const table: TomlTable = {};
  const { table: { version: _, ...extra } = {}, error } = parseToml(spec.extra ?? "");
  for (const fragment of [...typedFragments(spec, injection), extra])
    merge(table, fragment, "", conflicts);
  return {
    ...defined({
      toml: Object.keys(table).length > 0 ? `${stringify(table).trim()}\n` : undefined,
      error,
    }),
    conflicts,
  };
});

function typedFragments(spec: ContainerdSpec, injection: Injection): TomlTable[] {
  const runtime = (settings: TomlTable): TomlTable => ({ plugins: { [runtimePlugin]: settings } });
  const dirs = spec.cdiSpecDirs ?? [];
  return [
    // Talos ≥ 1.13 itself sets the directories, and joins the lists. On older releases this list would replace
    // containerd's defaults, so it repeats them.
    ...(dirs.length > 0
      ? [
          runtime({
            cdi_spec_dirs: [
              ...new Set([...(injection === "legacy" ? containerdCdiDirs : []), ...dirs]),
            ],
          }),
        ]
      : []),
    ...(spec.nvidiaDefaultRuntime
      ? [runtime({ containerd: { default_runtime_name: "nvidia" } })]
      : []),
    ...(spec.baseRuntimeSpec
      ? [runtime({ containerd: { runtimes: { nvidia: { base_runtime_spec: baseSpec } } } })]
      : []),
  ];
}

/**
 * Longest TOML that is read, in characters. Talos' and NVIDIA's settings together have some thousands of characters.
 */
const longest = 100_000;

/** Deepest nesting of tables that is read. */
const deepest = 50;

/** The parsed TOML (`table`), or the reason why it was not read (`error`). */
export function parseToml(text: string): { table?: TomlTable; error?: string } {
  if (text.trim() === "") return { table: {} };
  if (text.length > longest) return { error: `it has more than ${longest} characters` };
  try {
    const table = parse(text);
    return isDeep(table) ? { error: `its tables are nested more than ${deepest} deep` } : { table };
  } catch (error) {
    const message = ((error as Error).message.split("\n")[0] ?? "not TOML").replace(
      /^Invalid TOML document: /,
      "",
    );
    return { error: error instanceof TomlError ? `${message} (line ${error.line})` : message };
  }
}

/**
 * Whether the nesting in a table is deeper than `deepest`. The function goes level by level, because recursion could
 * overflow the call stack.
 */
function isDeep(table: TomlTable): boolean {
  let level: unknown[] = [table];
  for (let depth = 0; depth <= deepest; depth++)
    level = level.flatMap((item) =>
      typeof item === "object" && item !== null ? Object.values(item) : [],
    );
  return level.length > 0;
}

/** Whether a TOML value is a table. */
export const isTable = (value: unknown): value is TomlTable =>
  isMapping(value) && !(value instanceof Date);

/**
 * Merges two TOML tables as Talos does (internal/pkg/toml/merge.go): it merges tables by key, joins arrays, and takes
 * the later scalar.
 */
function merge(target: TomlTable, source: TomlTable, path: string, conflicts: string[]): void {
  for (const [key, value] of Object.entries(source)) {
    const keyPath = path === "" ? key : `${path}.${key}`;
    const current = target[key];
    if (current === undefined) target[key] = value;
    else if (isTable(current) && isTable(value)) merge(current, value, keyPath, conflicts);
    else if (Array.isArray(current) && Array.isArray(value)) {
      const existing = new Set(current);
      target[key] = [...current, ...value.filter((item) => !existing.has(item))];
    } else {
      if (current !== value) conflicts.push(keyPath);
      target[key] = value;
    }
  }
}
