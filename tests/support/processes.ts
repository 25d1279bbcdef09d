import * as fs from "node:fs";
import { untilSeen } from "../../lab/until";

/** A process of this computer. */
export interface RunningProcess {
  pid: number;
  /** Id of the parent process; NaN if the process has ended meanwhile. */
  parent: number;
  /** Command line, with a NUL after each word; empty if the process has ended. */
  command: string;
}

/** Every process of this computer. */
export function processes(): RunningProcess[] {
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({
      pid: Number(pid),
      parent: Number(/^PPid:\s+(\d+)/m.exec(readOrEmpty(`/proc/${pid}/status`))?.[1]),
      command: readOrEmpty(`/proc/${pid}/cmdline`),
    }));
}

/**
 * Whether a process of this user runs. One that has ended counts as ended, even if its parent has not yet read its
 * status.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const status = readOrEmpty(`/proc/${pid}/status`);
  if (status === "") return !fs.existsSync("/proc/self"); // ended meanwhile, if there is a /proc
  return !/^State:\s+Z/m.test(status);
}

/** Waits until these processes have ended: the system takes a moment to end them. */
export async function waitUntilEnded(pids: readonly number[]): Promise<void> {
  const stillRunning = (): number[] => pids.filter(isRunning);
  await untilSeen(
    "the processes have ended",
    { seconds: 300, every: 20 },
    stillRunning,
    ({ length }) => length === 0,
  );
}

/** The child processes of a process, and their descendants. */
export function descendants(root: number): RunningProcess[] {
  const allProcesses = processes();
  const tree = new Set([root]);
  for (let size = 0; size !== tree.size;) {
    size = tree.size;
    for (const { pid, parent } of allProcesses) if (tree.has(parent)) tree.add(pid);
  }
  return allProcesses.filter(({ pid }) => pid !== root && tree.has(pid));
}

/** Content of a file, e.g. of /proc; empty if there is no such file, such as after the end of its process. */
export function readOrEmpty(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
