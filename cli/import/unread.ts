import * as fs from "node:fs";
import * as path from "node:path";
import { asText, isMapping } from "../../components/recipe/mapping";
import type { FindingText } from "../../components/recipe/rules";
import { yamlIn } from "../../components/recipe/rules/yaml";
import { isEncrypted } from "./substitute";
import { ofProgram, ofTemplate, rendering } from "./only-topf";

/** A file that another file names, and that is not read. */
export interface Unread {
  /** Field that names it, e.g. `patches`. */
  field: string;
  /** Its absolute path. */
  file: string;
  /** Why, e.g. `ENOENT`. */
  reason: string;
}

const byGitCrypt = "git-crypt keeps it encrypted";
const bySops = "SOPS keeps all of it encrypted";
const missing = "ENOENT";
const outside = "it is outside of ";

/**
 * The first bytes that git-crypt writes, NUL and GITCRYPT and NUL, as a reader takes them for UTF-16 (git-crypt,
 * commands.cpp).
 */
const gitCryptHeader = "G\u4954\u4352\u5950\u5400";

/** Why a text cannot be read; undefined where it is plain. */
export function whyUnread(text: string): string | undefined {
  if (text.startsWith(gitCryptHeader)) return byGitCrypt;
  if (!isEncrypted(text)) return undefined;
  // SOPS encrypts a file that it cannot parse as one text under `data` (getsops/sops, stores/json, BinaryStore).
  const content = yamlIn(text);
  return isMapping(content) && "sops" in content && isEncrypted(asText(content["data"]))
    ? bySops
    : undefined;
}

/**
 * The message about a file that is not read.
 *
 * @param nameOf a file's name as its reader knows it
 */
export function unreadFinding(
  { field, file, reason }: Unread,
  nameOf: (file: string) => string,
): FindingText {
  const isMissing = reason === missing;
  const name = nameOf(file);
  return {
    problem: isMissing
      ? `${field} names ${name}, which is not there`
      : `${field} names ${name}, which is not read (${reason})`,
    why: "what it says is missing here, and all else is read",
    remedy: remedyOf(file, reason, nameOf),
  };
}

function remedyOf(file: string, reason: string, nameOf: (file: string) => string): string {
  if (reason === byGitCrypt) return "run `git-crypt unlock`, then this again";
  if (reason === bySops)
    return `run this again where it is decrypted (\`sops --decrypt ${nameOf(file)}\` prints it)`;
  if (reason.startsWith(ofTemplate) || reason === ofProgram)
    return `${rendering}, and give its files here`;
  if (reason.startsWith(outside))
    return "run this in the git repository that holds both files, or copy the file into the folder";
  if (reason !== missing) return "make it a plain file that you may read, then run this again";
  return makerOf(file, nameOf) ?? "make or fetch it as your repository does, then run this again";
}

/**
 * Files of patches that clustertool writes and keeps out of git (truecharts, clustertool,
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
 * How a file is made that is not there: the command of the tool that its neighbours belong to. Undefined where they
 * tell none.
 */
export function makerOf(file: string, nameOf = (name: string): string => name): string | undefined {
  const folder = path.dirname(path.resolve(file));
  const isThere = (...steps: string[]): boolean => fs.existsSync(path.join(folder, ...steps));
  const { base, name, ext } = path.parse(file);
  const beside = (other: string): string => nameOf(path.join(path.dirname(file), other));
  if (fs.existsSync(file)) return undefined;
  const template = [".j2", ".jinja"].map((end) => `${base}${end}`).find((one) => isThere(one));
  if (template !== undefined)
    return `make it of its template, with the variables that your repository gives it (\`minijinja-cli ${beside(template)} > ${nameOf(file)}\`), then run this again`;
  const encrypted = ["sops", "enc"]
    .map((mark) => `${name}.${mark}${ext}`)
    .find((one) => isThere(one));
  if (encrypted !== undefined)
    return `decrypt it, and keep it out of git (\`sops --decrypt ${beside(encrypted)} > ${nameOf(file)}\`), then run this again`;
  const isOfClustertool =
    isThere("..", "clusterenv.yaml") || isThere("..", "..", "clusterenv.yaml");
  if (isOfClustertool && patchesOfClustertool.includes(base))
    return "run `clustertool genconfig` (`forgetool cluster genconfig` of its later releases), then this again";
  if (path.basename(folder) === "clusterconfig")
    return "run `talhelper genconfig`, then this again";
  if (isThere("..", "topf.yaml"))
    return `run \`topf render -o ${nameOf(path.dirname(file))}\`, then this again`;
  return undefined;
}
