import { execFileSync } from "node:child_process";
import * as path from "node:path";

/**
 * Text of a file as it was in git.
 *
 * @param ref a commit, branch or tag, e.g. `origin/main`.
 * @returns undefined where that commit has no such file.
 * @throws Error when there is no such commit, or no repository.
 */
export function fileAt(ref: string, file: string): string | undefined {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", path.dirname(path.resolve(file)), ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 64 * 1024 * 1024,
    });
  let commit: string;
  try {
    commit = git("rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`).trim();
  } catch (error) {
    const stderr = (error as { stderr?: string }).stderr?.trim();
    throw new Error(
      `--base: git knows no commit ${ref}${stderr ? ` (${stderr})` : ""}, so there is nothing to compare with; fetch it first, or leave --base out`,
      { cause: error },
    );
  }
  const place = `./${path.basename(file)}`;
  if (git("ls-tree", "--name-only", commit, place).trim() === "") return undefined;
  return git("show", `${commit}:${place}`);
}
