import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { slugOf } from "../../generate/site/slug";
import { repository } from "../../stacks/stack-file";

/** Text of a file of the repository. */
export const read = (file: string): string => fs.readFileSync(path.join(repository, file), "utf8");

const gitFiles = (...options: string[]): string[] =>
  execFileSync("git", ["ls-files", ...options], { cwd: repository, encoding: "utf8" })
    .split("\n")
    .filter(Boolean);
const deleted = new Set(gitFiles("--deleted"));

/** Every file of the repository, including those that are not committed yet. */
export const files: readonly string[] = gitFiles(
  "--cached",
  "--others",
  "--exclude-standard",
).filter((file) => !deleted.has(file));

/** Every page for readers, without the fixtures. */
export const pages = files.filter(
  (file) => file.endsWith(".md") && !file.startsWith("tests/fixtures/"),
);

/** The blocks of a language on a page. */
export const blocksOf = (page: string, language: RegExp): string[] =>
  [...read(page).matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```/gm)].flatMap(([, name, text]) =>
    language.test(name!) ? [text!] : [],
  );

/**
 * The anchors that GitHub gives a page's headings: lower case, no punctuation, dashes for spaces, a number if a
 * heading occurs twice.
 */
export function anchorsOf(page: string): Set<string> {
  const text = read(page).replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
  const counts = new Map<string, number>();
  const anchors = [...text.matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading]) => {
    const plain = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const slug = slugOf(plain);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set([
    ...anchors,
    ...[...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, name]) => name!),
  ]);
}
