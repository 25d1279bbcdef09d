import { execFile } from "node:child_process";
import * as fs from "node:fs";
import { promisify } from "node:util";

/** Runs a shell command as root on the real node of a lab's folder, and gives its output. */
export async function onNode(folder: string, command: string): Promise<string> {
  const nsenterArgs = [
    "--target",
    String(firstProcess(folder)),
    "--all",
    "--",
    "sh",
    "-ec",
    command,
  ];
  return (await promisify(execFile)("nsenter", nsenterArgs)).stdout;
}

/** Process ID of the first process in the node's namespaces. */
function firstProcess(folder: string): number {
  const pidText = fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => {
      const [, command, spec] = commandOf(pid);
      return command === "real-node-inside" && spec!.startsWith(`${folder}/`);
    });
  if (pidText === undefined) throw new Error(`no real node runs in ${folder}`);
  return Number(pidText);
}

/** Arguments of a process; empty if it has ended. */
function commandOf(pid: string): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}
