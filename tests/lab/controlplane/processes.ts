import { execFileSync } from "node:child_process";
import { untilSeen } from "../../../lab/until";

/** The processes whose command line names the folder. */
export function processesOf(folder: string): string[] {
  const all = execFileSync("ps", ["-axww", "-o", "pid,command"], { encoding: "utf8" });
  return all.split("\n").filter((line) => line.includes(folder));
}

/** Waits for a condition that no event announces, such as the end of somebody else's child. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, limit = 5_000): Promise<void> {
  await untilSeen(what, { seconds: limit / 1000, every: 20 }, holds, Boolean);
}
