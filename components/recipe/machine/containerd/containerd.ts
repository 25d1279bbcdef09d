import { parse, stringify, TomlError, type TomlTable } from "smol-toml";
import { defined, isMapping } from "../../mapping";
import { remembering } from "../../memory";
import type { ContainerdSpec } from "../../spec/index";
import type { Era } from "../../types";

/**
 * The path by which `machine.files` has containerd settings; no other file of the machine's may have any. Talos up to
 * 1.13 writes it, later releases merge it without a file (talos v1.14.1,
 * pkg/machinery/config/types/v1alpha1/v1alpha1_cri_bridge.go), as they do with the documents CRICustomizationConfig.
 * Source: talos, pkg/machinery/constants, CRICustomizationConfigPart.
 */
export const customizationPath = "/etc/cri/conf.d/20-customization.part";

/** Name of containerd's CRI runtime plugin in its configuration of version 3 (Talos ≥ 1.8). */
export const runtimePlugin = "io.containerd.cri.v1.runtime";

/** Where containerd looks for CDI specifications by default. Source: containerd 2, internal/cri/config. */
const containerdCdiDirs = ["/etc/cdi", "/var/run/cdi"];

/** Talos' base OCI specification, which it gives to `runc` only. Source: talos, hack/cri-plugin.part. */
export const baseSpec = "/etc/cri/conf.d/base-spec.json";

/**
 * Composes the machine's containerd part from one fragment per option; `version` never gets in (a part's version
 * overwrites Talos' own). `toml` is undefined when there is nothing to say, `error` unless `extra` is no TOML; of
 * `clashes`, dotted keys that two fragments set to different values, the later fragment stands.
 */
export const containerdPart = remembering((spec: ContainerdSpec = {}, era: Era) => {
  const clashes: string[] = [];
  const table: TomlTable = {};
  const { table: { version: _, ...extra } = {}, error } = parseToml(spec.extra ?? "");
  for (const fragment of [...typedFragments(spec, era), extra]) merge(table, fragment, "", clashes);
  return {
    ...defined({
      toml: Object.keys(table).length > 0 ? `${stringify(table).trim()}\n` : undefined,
      error,
    }),
    clashes,
  };
});

function typedFragments(spec: ContainerdSpec, era: Era): TomlTable[] {
  const runtime = (settings: TomlTable): TomlTable => ({ plugins: { [runtimePlugin]: settings } });
  const dirs = spec.cdiSpecDirs ?? [];
  return [
    // Talos ≥ 1.13 sets the directories itself and arrays are concatenated; on older releases, ours would replace
    // containerd's own.
    ...(dirs.length > 0
      ? [
          runtime({
            cdi_spec_dirs: [...new Set([...(era === "legacy" ? containerdCdiDirs : []), ...dirs])],
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

/** Longest TOML that is read, in characters. Talos' own and NVIDIA's part together have some thousands. */
const longest = 100_000;

/** Deepest nesting of tables that is read. */
const deepest = 50;

/** The parsed TOML, or why the text is not TOML. */
export function parseToml(text: string): { table?: TomlTable; error?: string } {
  if (text.trim() === "") return { table: {} };
  if (text.length > longest) return { error: `it has more than ${longest} characters` };
  try {
    const table = parse(text);
    return isDeep(table)
      ? { error: `its tables stand within each other more than ${deepest} deep` }
      : { table };
  } catch (error) {
    const message = ((error as Error).message.split("\n")[0] ?? "not TOML").replace(
      /^Invalid TOML document: /,
      "",
    );
    return { error: error instanceof TomlError ? `${message} (line ${error.line})` : message };
  }
}

/**
 * Whether something in a table lies deeper than the depth that is read. Level by level, because a call for each level
 * could overflow the stack.
 */
function isDeep(table: TomlTable): boolean {
  let level: unknown[] = [table];
  for (let depth = 0; depth <= deepest; depth++)
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  return level.length > 0;
}

/** Whether a value of TOML is a table. */
export const isTable = (value: unknown): value is TomlTable =>
  isMapping(value) && !(value instanceof Date);

/**
 * Merges like Talos does (internal/pkg/toml/merge.go): tables by key, arrays one after the other, scalars by the
 * later one.
 */
function merge(into: TomlTable, from: TomlTable, path: string, clashes: string[]): void {
  for (const [key, value] of Object.entries(from)) {
    const here = path === "" ? key : `${path}.${key}`;
    const old = into[key];
    if (old === undefined) into[key] = value;
    else if (isTable(old) && isTable(value)) merge(old, value, here, clashes);
    else if (Array.isArray(old) && Array.isArray(value)) {
      const there = new Set(old);
      into[key] = [...old, ...value.filter((item) => !there.has(item))];
    } else {
      if (old !== value) clashes.push(here);
      into[key] = value;
    }
  }
}
