import { readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { Modules, Release, ToolDefinition } from "./definition";

const lab = path.resolve(__dirname, "..");

/** The content of catalogue.yaml, in which folders are relative to the lab's. */
const content = parse(readFileSync(path.join(__dirname, "catalogue.yaml"), "utf8"), {
  merge: true,
}) as Record<"lab" | "languages" | "prometheus" | "node" | "talos", ToolDefinition[]> & {
  talosModules: Record<string, Modules>;
  talosContainerd: Record<string, string>;
  talosClients: Record<string, ToolDefinition>;
  sums: string[];
};

const withAbsolutePaths = ({ folder, release, ...tool }: ToolDefinition): ToolDefinition => ({
  ...tool,
  ...(folder === undefined ? {} : { folder: path.join(lab, folder) }),
  ...(release === undefined ? {} : { release: withAbsoluteLauncher(release) }),
});

const withAbsoluteLauncher = ({ launcher, ...release }: Release): Release =>
  launcher === undefined ? release : { ...release, launcher: path.join(lab, launcher) };

/** Every tool that the lab runs, in the order in which they are built. */
export const catalogue: readonly ToolDefinition[] = content.lab.map(withAbsolutePaths);

/** Pulumi's YAML host and its generators of SDKs. */
export const languageTool: ToolDefinition = withAbsolutePaths(content.languages[0]!);

/** Tool that tries Prometheus' rules. */
export const promtool: ToolDefinition = content.prometheus[0]!;

/** The programs of a real node (`--machines node`). */
export const nodeCatalogue: readonly ToolDefinition[] = content.node;

/** Modules of the Talos releases that are built. */
export const talosModules: Readonly<Record<string, Modules>> = content.talosModules;

/** The programs of a machine that runs real Talos of a release. */
export function talosCatalogue(release: string): readonly ToolDefinition[] {
  const modules = talosModules[release]!;
  const sums = content.sums.filter((line) =>
    modules.replace?.some(
      (fork) => line.replace(/(\/go\.mod)? h1:.*/, "") === fork.split(" => ")[1],
    ),
  );
  const modulesWithSums = { ...modules, sums };
  const forRelease = (tool: ToolDefinition): ToolDefinition => {
    if (tool.name === "talos") return { ...tool, modules: modulesWithSums };
    if (tool.name === "containerd") return containerdOf(tool, content.talosContainerd[release]);
    return tool;
  };
  const client = content.talosClients[release];
  return [
    ...content.talos.map((tool) => withAbsolutePaths(forRelease(tool))),
    ...(client === undefined ? [] : [{ ...client, modules: modulesWithSums }]),
  ];
}

const containerdOf = (tool: ToolDefinition, version: string | undefined): ToolDefinition =>
  version === undefined
    ? tool
    : {
        ...tool,
        modules: { require: [`github.com/containerd/containerd/v2 v${version}`] },
        stamps: [`github.com/containerd/containerd/v2/version.Version=${version}`],
      };

/**
 * Arguments of every command that compiles the lab's Go packages. Go reuses a compiled package only for the same
 * arguments. No program keeps debugging information (`-s -w`), and compiling it takes a tenth of a build. Inlining
 * (without `-l`) takes a sixth, so only Go's own packages have it. A warm lab took 21.4 s of CPU without it, and 20.6 s
 * with it (two cores, two runs each).
 */
export const compileFlags: readonly string[] = [
  "-trimpath",
  "-gcflags=all=-dwarf=false -l",
  "-gcflags=std=-dwarf=false",
];

/** Further arguments of the linker, by the tool's need of C, as in the projects' own Makefiles. */
const linkerArguments = {
  static: "-extldflags=-static",
  lazy: "-extldflags=-Wl,--unresolved-symbols=ignore-in-object-files,-z,lazy",
};

/** The arguments of `go build` that change its result. */
export function buildFlags(tool: Pick<ToolDefinition, "stamps" | "c" | "tags">): string[] {
  const stamps = tool.stamps.map((stamp) => `-X ${stamp}`);
  const flags = ["-s", "-w", ...(tool.c === undefined ? [] : [linkerArguments[tool.c]]), ...stamps];
  return [
    ...compileFlags,
    "-buildvcs=false",
    ...(tool.tags === undefined ? [] : [`-tags=${tool.tags.join(",")}`]),
    `-ldflags=${flags.join(" ")}`,
  ];
}
