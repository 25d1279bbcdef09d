import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { writeTable } from "./write-table";

/**
 * Makes components/recipe/facts/data/containerd-schema.json: keys and types of containerd's configuration, release by
 * release, read from its sources (`npm run facts:containerd`). They are Go modules, but the packages are internal, so
 * that nothing can import them.
 */

const releases = ["2.0.5", "2.1.6", "2.2.3", "2.3.1"];

/** Files with the structures, and the structure of each plugin's table. */
const sources = [
  "internal/cri/config/config.go",
  "internal/nri/config.go",
  "cmd/containerd/server/config/config.go",
];
const roots: Record<string, string> = {
  "": "containerd.Config",
  "io.containerd.cri.v1.runtime": "cri.RuntimeConfig",
  "io.containerd.cri.v1.images": "cri.ImageConfig",
  "io.containerd.grpc.v1.cri": "cri.ServerConfig",
  "io.containerd.nri.v1.nri": "nri.Config",
};

type Keys = Record<string, string>;

function structures(release: string): Record<string, Keys> {
  const module = `github.com/containerd/containerd/v2@v${release}`;
  const { Dir } = JSON.parse(
    execFileSync("go", ["mod", "download", "-json", module], { encoding: "utf8" }),
  ) as {
    Dir: string;
  };
  const structuresByName: Record<string, Keys> = {};
  for (const source of sources) {
    const scope = source.startsWith("internal/cri")
      ? "cri"
      : source.startsWith("internal/nri")
        ? "nri"
        : "containerd";
    const text = fs.readFileSync(path.join(Dir, source), "utf8");
    for (const [, name, body] of text.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
      const keys = [...body!.matchAll(/^\t(?:\w+ +)?([^\s/].*?) +`toml:"(\w+)/gm)].map(
        ([, type, key]) => [key!, typeOf(type!.trim(), scope)],
      );
      if (keys.length > 0) structuresByName[`${scope}.${name}`] = Object.fromEntries(keys) as Keys;
    }
  }
  return structuresByName;
}

function typeOf(type: string, scope: string): string {
  if (type.startsWith("*")) return typeOf(type.slice(1), scope);
  if (type.startsWith("[]")) return `[${typeOf(type.slice(2), scope)}`;
  if (type === "map[string]interface{}" || type === "map[string]any") return "object";
  if (type.startsWith("map[string]")) return `{${typeOf(type.slice("map[string]".length), scope)}`;
  if (["string", "bool"].includes(type)) return type === "bool" ? "boolean" : type;
  if (/^u?int\d*$/.test(type)) return "integer";
  if (/^[A-Z]\w*$/.test(type)) return `@${scope}.${type}`;
  return type.endsWith("Duration") ? "string" : "any";
}

async function main(): Promise<void> {
  const structuresOfReleases = releases.map(structures);
  const minors = releases.map((release) => Number(release.split(".")[1]));
  const names = [
    ...new Set(
      structuresOfReleases.flatMap((structuresOfRelease) => Object.keys(structuresOfRelease)),
    ),
  ].sort();
  const ranged = (name: string): Record<string, [string, number, number] | string> => {
    const keys = [
      ...new Set(
        structuresOfReleases.flatMap((structuresOfRelease) =>
          Object.keys(structuresOfRelease[name] ?? {}),
        ),
      ),
    ].sort();
    return Object.fromEntries(
      keys.map((key) => {
        const minorsWithKey = minors.filter(
          (_, index) => structuresOfReleases[index]![name]?.[key] !== undefined,
        );
        const type = structuresOfReleases.findLast(
          (structuresOfRelease) => structuresOfRelease[name]?.[key] !== undefined,
        )![name]![key]!;
        return [
          key,
          minorsWithKey.length === minors.length
            ? type
            : [type, minorsWithKey[0]!, minorsWithKey.at(-1)!],
        ];
      }),
    );
  };
  const data = {
    source: `containerd/containerd, ${sources.join(", ")}`,
    releases: releases.map((release) => `v${release}`),
    roots,
    defs: Object.fromEntries(names.map((name) => [name, ranged(name)])),
  };
  await writeTable("containerd-schema.json", data);
}

void main();
