import * as fs from "node:fs";
import * as path from "node:path";
import { asText, isMapping } from "../../components/recipe/mapping";
import type { FindingText } from "../../components/recipe/rules";
import { yamlIn } from "../../components/recipe/rules/yaml";
import { isEncrypted } from "./substitute";
import { ofProgram, ofTemplate, rendering } from "./only-topf";

/** A file that could not be read, although another file names it. */
export interface Unread {
  /** Field that names the file, e.g. `patches`. */
  field: string;
  /** Its absolute path. */
  file: string;
  /** The reason, e.g. `ENOENT`. */
  reason: string;
}

const byGitCrypt = "git-crypt has encrypted it";
const bySops = "SOPS has encrypted the whole file";
const missing = "ENOENT";
const outside = "it is outside of ";

/**
 * The first bytes of a file of git-crypt (NUL, GITCRYPT, NUL), as a reader of UTF-16 sees them (git-crypt,
 * commands.cpp).
 */
const gitCryptHeader = "G\u4954\u4352\u5950\u5400";

/** The reason why a text cannot be read; undefined if it is plain text. */
export function whyUnread(text: string): string | undefined {
  if (text.startsWith(gitCryptHeader)) return byGitCrypt;
  if (!isEncrypted(text)) return undefined;
  // SOPS encrypts a file that it cannot parse, and writes it as one text under `data` (getsops/sops, stores/json,
  // BinaryStore).
  const content = yamlIn(text);
  return isMapping(content) && "sops" in content && isEncrypted(asText(content["data"]))
    ? bySops
    : undefined;
}

/**
 * The finding about a file that could not be read.
 *
 * @param nameOf returns a file's name in the form for messages
 */
export function unreadFinding(
  { field, file, reason }: Unread,
  nameOf: (file: string) => string,
): FindingText {
  const isMissing = reason === missing;
  const name = nameOf(file);
  return {
    problem: isMissing
      ? `${field} refers to ${name}, which does not exist`
      : `${field} refers to ${name}, which cannot be read (${reason})`,
    why: "the result lacks the settings of this file",
    remedy: remedyOf(file, reason, nameOf),
  };
}

function remedyOf(file: string, reason: string, nameOf: (file: string) => string): string {
  if (reason === byGitCrypt) return "run `git-crypt unlock`, then run this command again";
  if (reason === bySops)
    return `run this command again on a computer that has the decrypted file (\`sops --decrypt ${nameOf(file)}\` prints its text)`;
  if (reason.startsWith(ofTemplate) || reason === ofProgram)
    return `${rendering}, and give the rendered files to this command`;
  if (reason.startsWith(outside))
    return "copy the file into this folder, or run this command in a git repository that also contains the file";
  if (reason !== missing)
    return "make it a regular file that you may read, then run this command again";
  return (
    howToMakeFile(file, nameOf) ??
    "create or fetch the file as your repository's documentation says, then run this command again"
  );
}

/**
 * Patch files that clustertool generates, and names in .gitignore (truecharts, clustertool,
 * embed/generic/base/DOTREPLACEgitignore).
 */
const patchesOfClustertool = [
  "all.yaml",
  "controlplane.yaml",
  "manifests.yaml",
  "sopssecret.yaml",
  "worker.yaml",
];

/**
 * Remedy for a missing file: the command that creates it. The files next to the missing file show which tool the user
 * has; undefined if they show none.
 */
export function howToMakeFile(
  file: string,
  nameOf = (name: string): string => name,
): string | undefined {
  const folder = path.dirname(path.resolve(file));
  const existsNearby = (...steps: string[]): boolean => fs.existsSync(path.join(folder, ...steps));
  const { base, name, ext } = path.parse(file);
  const siblingPath = (fileName: string): string => nameOf(path.join(path.dirname(file), fileName));
  if (fs.existsSync(file)) return undefined;
  const template = [".j2", ".jinja"]
    .map((extension) => `${base}${extension}`)
    .find((fileName) => existsNearby(fileName));
  if (template !== undefined)
    return `make the file from its template, with your repository's variables (\`minijinja-cli ${siblingPath(template)} > ${nameOf(file)}\`), then run this command again`;
  const encrypted = ["sops", "enc"]
    .map((suffix) => `${name}.${suffix}${ext}`)
    .find((fileName) => existsNearby(fileName));
  if (encrypted !== undefined)
    return `decrypt it, and keep it out of git (\`sops --decrypt ${siblingPath(encrypted)} > ${nameOf(file)}\`), then run this command again`;
  const isOfClustertool =
    existsNearby("..", "clusterenv.yaml") || existsNearby("..", "..", "clusterenv.yaml");
  if (isOfClustertool && patchesOfClustertool.includes(base))
    return "run `clustertool genconfig` (in later releases `forgetool cluster genconfig`), then run this command again";
  if (path.basename(folder) === "clusterconfig")
    return "run `talhelper genconfig`, then run this command again";
  if (existsNearby("..", "topf.yaml"))
    return `run \`topf render -o ${nameOf(path.dirname(file))}\`, then run this command again`;
  return undefined;
}
