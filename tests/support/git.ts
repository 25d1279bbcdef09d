import { execFileSync } from "node:child_process";

/** Git in a folder, with an author; gives what it prints. */
export const gitIn =
  (cwd: string) =>
  (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.net", ...args], {
      cwd,
      encoding: "utf8",
    });
