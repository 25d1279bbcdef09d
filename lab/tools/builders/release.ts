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
  /** Address of the file with its SHA-256 sum. */
  sums: string;
  /** The programs in it. */
  programs: readonly string[];
  /** Folder of the programs, if the file is an archive. */
  within?: string;
}

/** The architecture as Node names it; some projects use these names. */
const nodeArchitectures: Readonly<Record<string, string>> = { amd64: "x64" };

/**
 * A tool's published files for a platform, in the versions from which the lab would build it. Undefined if the
 * projects publish none.
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
  const files = release.files.flatMap(
    ({
      of: module,
      version: publishedVersion,
      programs,
      within,
      ...addresses
    }): PublishedFile[] => {
      const version = publishedVersion ?? versionOf(module, modules);
      const placeholders = {
        version,
        number: version.replace(/^v/, ""),
        os,
        arch,
        node: nodeArchitectures[arch] ?? arch,
      };
      const publishedFile = (names: readonly string[], program: string): PublishedFile => ({
        address: fillPlaceholders(addresses.address, { ...placeholders, program }),
        sums: fillPlaceholders(addresses.sums, { ...placeholders, program }),
        programs: names,
        ...(within === undefined ? {} : { within: fillPlaceholders(within, placeholders) }),
      });
      return within === undefined
        ? programs.map((name) => publishedFile([name], name))
        : [publishedFile(programs, "")];
    },
  );
  return release.launcher === undefined
    ? { files }
    : { files, launcher: await fs.readFile(release.launcher, "utf8") };
}

function versionOf(module: string, { require }: Modules): string {
  const line = require.find((requirement) => requirement.startsWith(`${module} `));
  if (line === undefined)
    throw new Error(
      `${module}: the tool is built without this module, so its release has no version; add the module`,
    );
  return line.slice(module.length + 1);
}

const fillPlaceholders = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);

/** A short hash of everything that decides the result of a download. */
export const publishedKey = (published: Published): string =>
  createHash("sha256").update(JSON.stringify(published)).digest("hex").slice(0, 16);

/** Gives the address to request for a file's own address. */
export type Site = (address: string) => string;

/**
 * The addresses of releases, from TALOS_GPU_LAB_RELEASES: a mirror's URL, or `none`. A mirror has each file at the
 * file's own address without the scheme (as with TALOS_GPU_CHARTS). Default: the projects' own addresses.
 *
 * @returns undefined for `none`
 */
export function releaseSite(env: NodeJS.ProcessEnv): Site | undefined {
  const setting = env["TALOS_GPU_LAB_RELEASES"] ?? "";
  if (setting === "none") return undefined;
  if (setting === "") return (address) => address;
  if (!/^https?:\/\/[^/]/.test(setting))
    throw new Error(
      `TALOS_GPU_LAB_RELEASES: ${JSON.stringify(setting)} is not a URL, so no release can be downloaded from it; ` +
        "give a mirror's, such as https://mirror.example/releases, or `none` to build all tools from source",
    );
  return (address) => `${setting.replace(/\/+$/, "")}/${address.replace(/^https?:\/\//, "")}`;
}

/**
 * The SHA-256 sum of a file, from a project's file of sums: lines of `SUM  NAME` (`SUM *NAME`, `SUM  ./NAME`), or a
 * single sum. Undefined if the file is not listed.
 */
export function sumOf(text: string, name: string): string | undefined {
  const lines = text.split("\n").map((line) => /^([0-9a-f]{64})(?:\s+\*?(\S+))?\s*$/i.exec(line));
  const match = lines.find(
    (line) => line !== null && (line[2] === undefined || line[2].split("/").at(-1) === name),
  );
  return match?.[1]?.toLowerCase();
}
