import * as fs from "node:fs";
import * as path from "node:path";
import type { ToolName } from "../../tools";
import { catalogue } from "../../tools/catalogue";
import { publishedOf } from "../../tools/builders/release";
import { archive, type ReleasePage, sha256 } from "./release-page";

/**
 * Publishes a copy of a tool's release on a page. The copy is the lab's own build. If the release has several
 * programs instead, the copy has scripts that call the build.
 *
 * @param work folder for files to pack.
 */
export async function copyRelease(
  page: ReleasePage,
  name: ToolName,
  built: string,
  work: string,
): Promise<void> {
  const tool = catalogue.find((each) => each.name === name)!;
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const published = await publishedOf(tool, { version: "", os: process.platform, arch });
  const contentOf = (program: string): Buffer => {
    if (program === name) return fs.readFileSync(built);
    const script =
      published!.launcher === undefined
        ? `echo "${program}: not in this copy" >&2; exit 1`
        : `exec '${built}' ${program} "$@"`;
    return Buffer.from(`#!/bin/sh\n${script}\n`);
  };
  const sums = new Map<string, string>();
  for (const { address, sums: at, programs, within } of published?.files ?? []) {
    const members = programs.map(
      (program) => [`${within}/${program}`, contentOf(program)] as const,
    );
    const content =
      within === undefined ? contentOf(programs[0]!) : archive(work, Object.fromEntries(members));
    page.put(address, content);
    sums.set(at, `${sums.get(at) ?? ""}${sha256(content)}  ${path.basename(address)}\n`);
  }
  for (const [at, text] of sums) page.put(at, text);
}
