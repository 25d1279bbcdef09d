import type { TomlTable } from "smol-toml";
import {
  containerdKeys,
  knownPlugins,
  structureOfPlugin,
  type ContainerdRelease,
} from "../../facts/containerd-schema";
import { nearestWord, type FindingText } from "../../rules";
import { asText, flat, isMapping, valueAt } from "../../mapping";
import { remedyFor, shapeFindings, type ShapeFinding, writePath } from "../../shape";

/**
 * Findings for settings that containerd refuses or ignores. The function accepts the tables of plugins that it does not
 * know. A Talos release that the tables lack may have new keys. For such a release the function refuses an unknown key
 * only if it resembles a known key.
 */
export function containerdFindings(
  table: TomlTable,
  { minor, isKnown }: ContainerdRelease,
): FindingText[] {
  const dialect = {
    structureOf: (name: string) => ({
      keys: containerdKeys(name, minor, isKnown ? minor : Infinity),
      open: !isKnown,
    }),
  };
  const tableFindings = (value: unknown, structure: string, ...path: string[]): FindingText[] =>
    shapeFindings(value, `@${structure}`, dialect, path).map(findingOf);
  const { plugins, ...topLevel } = table;
  const pluginFindings = Object.entries(isMapping(plugins) ? plugins : {}).flatMap(
    ([id, value]): FindingText[] => {
      const structure = structureOfPlugin(id);
      if (structure !== undefined)
        return id === "io.containerd.grpc.v1.cri" && isMapping(value)
          ? []
          : tableFindings(value, structure, "plugins", id);
      const nearPlugin = nearestWord(id, knownPlugins);
      return nearPlugin !== undefined && isNear(id, nearPlugin)
        ? [
            {
              problem: `plugins.${quoted(id)} is not a plugin of containerd`,
              why: "containerd ignores it",
              remedy: `did you mean "${nearPlugin}"?`,
            },
          ]
        : [];
    },
  );
  return [
    ...tableFindings(topLevel, structureOfPlugin("")!),
    ...shapeFindings(plugins, "{any", dialect, ["plugins"]).map(findingOf),
    ...pluginFindings,
    ...meaningFindings(table),
  ];
}

function findingOf({ path, flaw }: ShapeFinding): FindingText {
  const fieldPath = writePath(path, quoted);
  if (flaw === "missing")
    return {
      problem: `${fieldPath} is missing`,
      why: "containerd does not start its CRI plugin, and the machine runs no pod",
      remedy: "add it",
    };
  if ("unknown" in flaw) {
    const remedy = flaw.near === undefined ? "leave it out" : `did you mean "${flaw.near}"?`;
    return {
      problem: `${fieldPath} is not a containerd key`,
      why: "containerd ignores it",
      remedy,
    };
  }
  const remedy = remedyFor(flaw.value, flaw.type).replace("mapping", "table");
  return {
    problem: `${fieldPath} is ${kindText(flaw.value)}`,
    why: "containerd does not start its CRI plugin, and the machine runs no pod",
    remedy,
  };
}

/**
 * Path of the folder in which Talos configures registries (talos v1.13.9,
 * internal/app/machined/pkg/controllers/files/cri_registry_config.go, and hosts.go).
 */
const hostsDir = "/etc/cri/conf.d/hosts";

/**
 * Values that containerd's own validation refuses. Source: containerd v2.2.3, internal/cri/config/config.go,
 * Validate…Config.
 */
function meaningFindings(table: TomlTable): FindingText[] {
  const plugin = (id: string, ...path: string[]): unknown => valueAt(table, "plugins", id, ...path);
  const registry = plugin("io.containerd.cri.v1.images", "registry");
  const folder = valueAt(registry, "config_path");
  const name = asText(plugin("io.containerd.cri.v1.runtime", "containerd", "default_runtime_name"));
  const runtimes = plugin("io.containerd.cri.v1.runtime", "containerd", "runtimes");
  const runtimeEntries = Object.entries(isMapping(runtimes) ? runtimes : {});
  const nearRuntime = name === "" ? undefined : nearestWord(name, ["nvidia", "runc"]);
  return flat<FindingText>([
    valueAt(registry, "mirrors") !== undefined || (folder !== undefined && folder !== hostsDir)
      ? {
          problem: "sets registry mirrors or config_path",
          why: "Talos itself sets config_path, so containerd refuses mirrors in these settings. Another config_path would hide the mirrors that Talos wrote",
          remedy: "write machine.registries.mirrors in a patch",
        }
      : undefined,
    nearRuntime !== undefined &&
    name !== nearRuntime &&
    !runtimeEntries.some(([runtime]) => runtime === name)
      ? {
          problem: `default_runtime_name = "${name}" is not a known runtime`,
          why: "containerd does not start its CRI plugin, and the machine runs no pod",
          remedy: `did you mean "${nearRuntime}"?`,
        }
      : undefined,
    runtimeEntries.map(([runtime, value]) => {
      const io = valueAt(value, "io_type");
      return typeof io === "string" && !["", "streaming", "named_pipe", "fifo"].includes(io)
        ? {
            problem: `io_type of ${runtime} has an unknown value`,
            why: "containerd does not start its CRI plugin, and the machine runs no pod",
            remedy: "write fifo or streaming",
          }
        : undefined;
    }),
  ]);
}

function kindText(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  return isMapping(value) ? "a table" : `a ${typeof value === "bigint" ? "number" : typeof value}`;
}

/** Whether a plugin's name is probably a misspelling of a known plugin's name, and not the name of another plugin. */
const isNear = (id: string, knownId: string): boolean =>
  Math.abs(id.length - knownId.length) <= 2 &&
  nearestWord(id.slice(14), [knownId.slice(14)]) !== undefined &&
  id.split(".").length === knownId.split(".").length &&
  id.split(".").filter((part, index) => part !== knownId.split(".")[index]).length === 1;

const quoted = (key: string): string => (/^[\w-]+$/.test(key) ? key : `"${key}"`);
