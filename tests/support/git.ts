import { execFileSync } from "node:child_process";

/** Runs git in a folder, with an author, and returns its output. */
export const gitIn =
  (cwd: string) =>
  (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.net", ...args], {
      cwd,
      encoding: "utf8",
    });
