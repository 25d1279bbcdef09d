import type { TomlTable } from "smol-toml";
import { containerdKeys, knownPlugins, structureOfPlugin, type ContainerdRelease } from "../../facts/containerd-schema";
import type { TypeText } from "../../facts/talos-schema";
import { closest } from "../../rules/suggest";
import { isMapping } from "../../mapping";

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
  const flaws: ContainerdFlaw[] = [];
  const visit = (value: unknown, type: TypeText, path: string): void => {
    if (!fits(value, type)) {
      flaws.push({ problem: `${path} is ${said(value)}`, why: refused, remedy: `write ${describe(type)}` });
      return;
    }
    if (type.startsWith("@") && isMapping(value)) structure(value, type.slice(1), path);
    else if (type.startsWith("{") && isMapping(value))
      for (const [key, one] of Object.entries(value)) visit(one, type.slice(1), `${path}.${quoted(key)}`);
    else if (type.startsWith("[") && Array.isArray(value))
      value.forEach((one, index) => visit(one, type.slice(1), `${path}[${index}]`));
  };
  const structure = (value: Record<string, unknown>, name: string, path: string): void => {
    const keys = containerdKeys(name, minor, isKnown ? minor : Infinity);
    for (const [key, one] of Object.entries(value)) {
      const here = path === "" ? key : `${path}.${quoted(key)}`;
      const type = keys.get(key);
      if (type !== undefined) visit(one, type, here);
      else if (path === "" && key === "plugins") continue;
      else {
        const near = closest(key, keys.keys());
        if (isKnown || near !== undefined)
          flaws.push({
            problem: `${here} is not a containerd key`,
            why: ignored,
            remedy: near === undefined ? "leave it out" : `did you mean "${near}"?`,
          });
      }
    }
  };
  const { plugins, ...rest } = table;
  structure(rest, structureOfPlugin("")!, "");
  if (plugins !== undefined && !isMapping(plugins))
    flaws.push({ problem: `plugins is ${said(plugins)}`, why: refused, remedy: "write tables of plugins" });
  for (const [id, value] of Object.entries(isMapping(plugins) ? plugins : {})) {
    const name = structureOfPlugin(id);
    const path = `plugins.${quoted(id)}`;
    if (name === undefined) {
      const near = closest(id, knownPlugins);
      if (near !== undefined && isNear(id, near))
        flaws.push({ problem: `${path} names no plugin`, why: ignored, remedy: `did you mean "${near}"?` });
    } else if (!isMapping(value))
      flaws.push({ problem: `${path} is ${said(value)}`, why: refused, remedy: "write a table" });
    else if (id !== "io.containerd.grpc.v1.cri") structure(value, name, path);
  }
  return [...flaws, ...meaningFlaws(table)];
}

/** Talos' own folder of registries (talos v1.13.9, internal/app/machined/pkg/controllers/files/cri_registry_config.go, and hosts.go). */
const hostsDir = "/etc/cri/conf.d/hosts";

/** What containerd's own validation refuses. Source: containerd v2.2.3, internal/cri/config/config.go, Validate…Config. */
function meaningFlaws(table: TomlTable): ContainerdFlaw[] {
  const plugin = (id: string, ...path: string[]): unknown =>
    path.reduce<unknown>(
      (value, key) => (isMapping(value) ? value[key] : undefined),
      isMapping(table["plugins"]) ? table["plugins"][id] : undefined,
    );
  const flaws: ContainerdFlaw[] = [];
  const registry = plugin("io.containerd.cri.v1.images", "registry");
  if (
    isMapping(registry) &&
    (registry["mirrors"] !== undefined ||
      ![undefined, hostsDir].includes(registry["config_path"] as string | undefined))
  ) {
    flaws.push({
      problem: "sets registry mirrors or their folder",
      why: "Talos sets config_path, beside which containerd refuses mirrors; another folder loses Talos' own",
      remedy: "write machine.registries.mirrors in a patch",
    });
  }
  const name = plugin("io.containerd.cri.v1.runtime", "containerd", "default_runtime_name");
  const runtimes = plugin("io.containerd.cri.v1.runtime", "containerd", "runtimes");
  const own = isMapping(runtimes) ? Object.keys(runtimes) : [];
  const near = typeof name === "string" ? closest(name, ["nvidia", "runc"]) : undefined;
  if (typeof name === "string" && near !== undefined && ![near, ...own].includes(name)) {
    flaws.push({
      problem: `default_runtime_name = "${name}" names no runtime`,
      why: refused,
      remedy: `did you mean "${near}"?`,
    });
  }
  for (const [runtime, value] of Object.entries(isMapping(runtimes) ? runtimes : {})) {
    const io = isMapping(value) ? value["io_type"] : undefined;
    if (typeof io === "string" && !["", "streaming", "named_pipe", "fifo"].includes(io))
      flaws.push({
        problem: `io_type of ${runtime} is not one of its values`,
        why: refused,
        remedy: "write fifo or streaming",
      });
  }
  return flaws;
}

function fits(value: unknown, type: TypeText): boolean {
  if (type === "any") return true;
  if (type.startsWith("[")) return Array.isArray(value);
  if (type.startsWith("@") || type.startsWith("{") || type === "object")
    return isMapping(value) && !(value instanceof Date);
  if (type === "integer") return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return typeof value === type;
}

function said(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  return isMapping(value) ? "a table" : `a ${typeof value === "bigint" ? "number" : typeof value}`;
}

function describe(type: TypeText): string {
  if (type.startsWith("[")) return type === "[string" ? 'a list of strings, e.g. ["…"]' : "a list";
  if (type.startsWith("@") || type.startsWith("{") || type === "object") return "a table";
  return type === "boolean" ? "true or false" : type === "integer" ? "a whole number" : `a ${type}`;
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
