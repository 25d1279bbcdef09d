import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { isBelow, largestFile, notPlain, tooLarge } from "../../components/lookups/bounded-file";
import { textOfBytes } from "../../components/lookups/text-of-bytes";

/** Files of a commit, which a stranger may have written: they are read as data, and the commit is not checked out. */
export interface FilesInGit {
  /** Whether the commit has a file at that path. */
  has: (file: string) => boolean;
  /**
   * Text of a regular file of at most 1 MiB.
   *
   * @param file its path relative to the working folder, as if the commit were checked out.
   * @throws Error whose message is only the reason, e.g. `it is not in main`.
   */
  read: (file: string) => string;
}

/**
 * The files that a commit has.
 *
 * @param option that names the commit, for messages, e.g. `--base`.
 * @param ref a commit, branch or tag, e.g. `origin/main`.
 * @param folder the repository's folder or a folder in it. If the folder does not exist, git runs in the nearest
 * existing folder above it.
 * @throws Error when there is no such commit, or no repository.
 */
export function filesInGit(option: string, ref: string, folder: string): FilesInGit {
  const start = existing(path.resolve(folder));
  const commit = commitOf(option, ref, start);
  const root = git(start, "rev-parse", "--show-toplevel").toString().trim();
  // Symbolic links on the way to the repository are resolved. Those in the working tree are not, since the commit may
  // have other links.
  const nameOf = (file: string): string | undefined =>
    nameIn(root, path.join(fs.realpathSync(start), path.relative(start, path.resolve(file))));
  return {
    has: (file) => {
      const name = nameOf(file);
      return name !== undefined && entryIn(root, commit, name) !== undefined;
    },
    read: (file) => {
      const name = nameOf(file);
      if (name === undefined) throw new Error("it is outside of the repository");
      const entry = entryIn(root, commit, name);
      if (entry === undefined) throw new Error(`it is not in ${ref}`);
      if (!regular.has(entry.mode)) throw new Error(notPlain);
      if (Number(git(root, "cat-file", "-s", entry.id)) > largestFile) throw new Error(tooLarge);
      return textOfBytes(git(root, "cat-file", "blob", entry.id));
    },
  };
}

/** Modes of regular files in git; a symbolic link has 120000 (git, Documentation/gitformat-index.adoc). */
const regular = new Set(["100644", "100755"]);

interface Entry {
  mode: string;
  id: string;
}

/**
 * The entry of a path in a commit's tree. Git follows no symbolic links there, so a path through a link has no entry.
 */
function entryIn(root: string, commit: string, name: string): Entry | undefined {
  const [line = ""] = git(root, "ls-tree", "-z", "--full-tree", commit, "--", name)
    .toString()
    .split("\0");
  const {
    mode,
    id,
    found: foundName,
  } = /^(?<mode>\d{6}) \w+ (?<id>[0-9a-f]+)\t(?<found>.+)$/s.exec(line)?.groups ?? {};
  return mode === undefined || id === undefined || foundName !== name ? undefined : { mode, id };
}

/** Path of a file in the repository, in git's form; undefined outside of it. */
function nameIn(root: string, file: string): string | undefined {
  const name = path.relative(root, file);
  return name === "" || !isBelow(root, file) ? undefined : name.split(path.sep).join("/");
}

/** The folder, or the nearest existing folder above it. */
function existing(folder: string): string {
  const parent = path.dirname(folder);
  return parent === folder || fs.existsSync(folder) ? folder : existing(parent);
}

function commitOf(option: string, ref: string, folder: string): string {
  try {
    const revision = `${ref}^{commit}`;
    return git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", revision)
      .toString()
      .trim();
  } catch (error) {
    const gitError = (error as { stderr?: Buffer }).stderr?.toString().trim() ?? "";
    throw new Error(
      `${option}: git has no commit ${ref}${gitError === "" ? "" : ` (${gitError})`}, so its files are unknown; fetch it first, or leave ${option} out`,
      { cause: error },
    );
  }
}

const git = (folder: string, ...args: string[]): Buffer =>
  execFileSync("git", ["-C", folder, "--literal-pathspecs", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 16 * largestFile,
  });
