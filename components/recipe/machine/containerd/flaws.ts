import type { TomlTable } from "smol-toml";
import { containerdKeys, knownPlugins, structureOfPlugin, type ContainerdRelease } from "../../facts/containerd-schema";
import { closest } from "../../rules/suggest";
import { isMapping, valueAt } from "../../mapping";
import { flat } from "../../nested";
import { remedyFor, shapeFlaws, type ShapeFlaw } from "../../shape";
import { faultOf } from "../../rules/fault";
import texts from "../texts.json";

/** Something in a part of containerd's configuration that it refuses or ignores. */
export interface ContainerdFlaw {
  problem: string;
  why: string;
  remedy: string;
}

const refused = "containerd does not start its CRI plugin, and the machine runs no pod";
const ignored = "containerd ignores it, so it has no effect";

/**
 * What a containerd does not take in a part. Tables of plugins that are not known are let be; so are unknown keys of a release
 * that the tables do not have, unless they are near to a known one: it may be newer than what is known of it.
 */
export function containerdFlaws(table: TomlTable, { minor, isKnown }: ContainerdRelease): ContainerdFlaw[] {
  const dialect = {
    structureOf: (name: string) => ({ keys: containerdKeys(name, minor, isKnown ? minor : Infinity), open: !isKnown }),
  };
  const ofTable = (value: unknown, structure: string, ...path: string[]): ContainerdFlaw[] =>
    shapeFlaws(value, `@${structure}`, dialect, path).map(worded);
  const { plugins, ...rest } = table;
  const ofPlugins = Object.entries(isMapping(plugins) ? plugins : {}).flatMap(([id, value]): ContainerdFlaw[] => {
    const structure = structureOfPlugin(id);
    if (structure !== undefined)
      return id === "io.containerd.grpc.v1.cri" && isMapping(value) ? [] : ofTable(value, structure, "plugins", id);
    const near = closest(id, knownPlugins);
    return near !== undefined && isNear(id, near)
      ? [{ problem: `plugins.${quoted(id)} names no plugin`, why: ignored, remedy: `did you mean "${near}"?` }]
      : [];
  });
  return [
    ...ofTable(rest, structureOfPlugin("")!),
    ...shapeFlaws(plugins, "{any", dialect, ["plugins"]).map(worded),
    ...ofPlugins,
    ...meaningFlaws(table),
  ];
}

function worded({ path, flaw }: ShapeFlaw): ContainerdFlaw {
  const at = path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${quoted(part)}`))
    .join("")
    .slice(1);
  if (flaw === "missing") return { problem: `${at} is missing`, why: refused, remedy: "add it" };
  if ("unknown" in flaw)
    return {
      problem: `${at} is not a containerd key`,
      why: ignored,
      remedy: flaw.near === undefined ? "leave it out" : `did you mean "${flaw.near}"?`,
    };
  return {
    problem: `${at} is ${said(flaw.value)}`,
    why: refused,
    remedy: remedyFor(flaw.value, flaw.type).replace("mapping", "table"),
  };
}

/** Talos' own folder of registries (talos v1.13.9, internal/app/machined/pkg/controllers/files/cri_registry_config.go, and hosts.go). */
const hostsDir = "/etc/cri/conf.d/hosts";

/** What containerd's own validation refuses. Source: containerd v2.2.3, internal/cri/config/config.go, Validate…Config. */
function meaningFlaws(table: TomlTable): ContainerdFlaw[] {
  const plugin = (id: string, ...path: string[]): unknown => valueAt(table, "plugins", id, ...path);
  const registry = plugin("io.containerd.cri.v1.images", "registry");
  const folder = valueAt(registry, "config_path");
  const name = plugin("io.containerd.cri.v1.runtime", "containerd", "default_runtime_name");
  const runtimes = plugin("io.containerd.cri.v1.runtime", "containerd", "runtimes");
  const own = Object.entries(isMapping(runtimes) ? runtimes : {});
  const near = typeof name === "string" ? closest(name, ["nvidia", "runc"]) : undefined;
  return flat<ContainerdFlaw>([
    (valueAt(registry, "mirrors") !== undefined || (folder !== undefined && folder !== hostsDir)) &&
      faultOf(texts.mirrors),
    near !== undefined &&
      name !== near &&
      !own.some(([runtime]) => runtime === name) && {
        problem: `default_runtime_name = "${name as string}" names no runtime`,
        why: refused,
        remedy: `did you mean "${near}"?`,
      },
    own.map(([runtime, value]) => {
      const io = valueAt(value, "io_type");
      return (
        typeof io === "string" &&
        !["", "streaming", "named_pipe", "fifo"].includes(io) && {
          problem: `io_type of ${runtime} is not one of its values`,
          why: refused,
          remedy: "write fifo or streaming",
        }
      );
    }),
  ]);
}

function said(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  return isMapping(value) ? "a table" : `a ${typeof value === "bigint" ? "number" : typeof value}`;
}

/** Whether two plugins differ in a letter or two, not in what they are. */
function isNear(id: string, known: string): boolean {
  return (
    Math.abs(id.length - known.length) <= 2 &&
    closest(id.slice(14), [known.slice(14)]) !== undefined &&
    id.split(".").length === known.split(".").length &&
    id.split(".").filter((part, at) => part !== known.split(".")[at]).length === 1
  );
}

function quoted(key: string): string {
  return /^[\w-]+$/.test(key) ? key : `"${key}"`;
}
