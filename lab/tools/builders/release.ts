import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import type { Modules, Toolchain, ToolDefinition } from "../definition";

/** A tool as its projects publish it, for one platform. */
export interface Published {
  files: readonly PublishedFile[];
  /** Text of the script that calls the programs as the tool. */
  launcher?: string;
}

/** A file of a release. */
export interface PublishedFile {
  address: string;
  /** Where its SHA-256 sum stands. */
  sums: string;
  /** The programs in it. */
  programs: readonly string[];
  /** Their folder, where it is an archive. */
  within?: string;
}

/** The architecture as Node names it, which some projects take over. */
const asNode: Readonly<Record<string, string>> = { amd64: "x64" };

/**
 * What its projects publish of a tool for a platform, in the versions that it is built from; undefined where they
 * publish nothing.
 */
export async function publishedOf(
  { release, modules }: ToolDefinition,
  { os, arch }: Toolchain,
): Promise<Published | undefined> {
  if (
    release === undefined ||
    modules === undefined ||
    !release.platforms.includes(`${os}/${arch}`)
  )
    return undefined;
  const files = release.files.flatMap(({ of, programs, within, ...addresses }): PublishedFile[] => {
    const version = versionOf(of, modules);
    const words = {
      version,
      number: version.replace(/^v/, ""),
      os,
      arch,
      node: asNode[arch] ?? arch,
    };
    const file = (names: readonly string[], program: string): PublishedFile => ({
      address: filled(addresses.address, { ...words, program }),
      sums: filled(addresses.sums, { ...words, program }),
      programs: names,
      ...(within === undefined ? {} : { within: filled(within, words) }),
    });
    return within === undefined ? programs.map((name) => file([name], name)) : [file(programs, "")];
  });
  return release.launcher === undefined
    ? { files }
    : { files, launcher: await fs.readFile(release.launcher, "utf8") };
}

function versionOf(module: string, { require }: Modules): string {
  const line = require.find((each) => each.startsWith(`${module} `));
  if (line === undefined)
    throw new Error(
      `${module}: the tool is built without this module, so its release has no version; add the module`,
    );
  return line.slice(module.length + 1);
}

const filled = (text: string, words: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)\}/g, (whole, word: string) => words[word] ?? whole);

/** A short hash of all that decides what a download gives. */
export const publishedKey = (published: Published): string =>
  createHash("sha256").update(JSON.stringify(published)).digest("hex").slice(0, 16);

/** Where a file of a release is asked for. */
export type Site = (address: string) => string;

/**
 * Where releases are asked for, by TALOS_GPU_LAB_RELEASES: a mirror's address, below which a file stands at its own
 * address without the scheme (as with TALOS_GPU_CHARTS), or `none`. Default: at the projects' own addresses.
 *
 * @returns undefined for `none`.
 */
export function releaseSite(env: NodeJS.ProcessEnv): Site | undefined {
  const said = env["TALOS_GPU_LAB_RELEASES"] ?? "";
  if (said === "none") return undefined;
  if (said === "") return (address) => address;
  if (!/^https?:\/\/[^/]/.test(said))
    throw new Error(
      `TALOS_GPU_LAB_RELEASES: ${JSON.stringify(said)} is not a URL, so no release can be downloaded from it; ` +
        "give a mirror's, such as https://mirror.example/releases, or `none` to build all tools from source",
    );
  return (address) => `${said.replace(/\/+$/, "")}/${address.replace(/^https?:\/\//, "")}`;
}

/**
 * The SHA-256 sum of a file, as a project's file of sums has it: lines of `SUM  NAME` (`SUM *NAME`, `SUM  ./NAME`), or one sum alone.
 * Undefined where it has none.
 */
export function sumOf(text: string, name: string): string | undefined {
  const lines = text.split("\n").map((line) => /^([0-9a-f]{64})(?:\s+\*?(\S+))?\s*$/i.exec(line));
  const found = lines.find(
    (line) => line !== null && (line[2] === undefined || line[2].split("/").at(-1) === name),
  );
  return found?.[1]?.toLowerCase();
}
