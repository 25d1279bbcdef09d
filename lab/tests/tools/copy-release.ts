import * as fs from "node:fs";
import * as path from "node:path";
import type { ToolName } from "../../tools";
import { catalogue } from "../../tools/catalogue";
import { publishedOf } from "../../tools/builders/release";
import { createArchive, type ReleasePage, sha256 } from "./release-page";

/**
 * Publishes a copy of a tool's release on a page. The copy is the lab's own build. If the release has several
 * programs, the copy has scripts that call the build.
 *
 * @param workFolder folder for the files that are packed
 */
export async function copyRelease(
  page: ReleasePage,
  toolName: ToolName,
  builtBinary: string,
  workFolder: string,
): Promise<void> {
  const tool = catalogue.find(({ name }) => name === toolName)!;
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const release = await publishedOf(tool, { version: "", os: process.platform, arch });
  const contentOf = (program: string): Buffer => {
    if (program === toolName) return fs.readFileSync(builtBinary);
    const script =
      release!.launcher === undefined
        ? `echo "${program}: not in this copy" >&2; exit 1`
        : `exec '${builtBinary}' ${program} "$@"`;
    return Buffer.from(`#!/bin/sh\n${script}\n`);
  };
  const sumFiles = new Map<string, string>();
  for (const { address, sums: sumsAddress, programs, within: folderInArchive } of release?.files ??
    []) {
    const members = programs.map(
      (program) => [path.posix.join(folderInArchive ?? "", program), contentOf(program)] as const,
    );
    const content =
      folderInArchive === undefined
        ? contentOf(programs[0]!)
        : createArchive(workFolder, Object.fromEntries(members));
    page.put(address, content);
    sumFiles.set(
      sumsAddress,
      `${sumFiles.get(sumsAddress) ?? ""}${sha256(content)}  ${path.basename(address)}\n`,
    );
  }
  for (const [address, text] of sumFiles) page.put(address, text);
}
