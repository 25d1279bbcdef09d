import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

/** A parent process of this process, or a parent of its parent. */
export interface Ancestor {
  pid: number;
  /** Name of the process' program; Linux keeps only 15 characters. */
  name: string;
  parent: number;
  /** Start time, which distinguishes the process from a later one with the same ID. */
  started: string;
}

/** Finds a process by its ID; undefined if there is no such process, or if the system does not show it. */
export type Look = (pid: number) => Ancestor | undefined;

/**
 * Largest number of processes from this program's parent up to Pulumi's command line: a shell, Pulumi's plugin, and
 * wrapper scripts.
 */
const DEPTH = 6;

/**
 * The parent processes up to Pulumi's command line. If one of them ends, nothing waits for this program any more. The
 * list ends with Pulumi, because a user's shell or CI runner above Pulumi may end earlier. The list is empty if Pulumi
 * is not among the parents, because another program then started this one.
 */
export function upToPulumi(parent: number, look: Look): Ancestor[] {
  const ancestors: Ancestor[] = [];
  for (let pid = parent; pid > 1 && ancestors.length < DEPTH; pid = ancestors.at(-1)!.parent) {
    const ancestor = look(pid);
    if (ancestor === undefined) break;
    ancestors.push(ancestor);
    if (ancestor.name === "pulumi") return ancestors;
  }
  return [];
}

/** Whether one of these processes has ended. */
export const isOrphaned = (ancestors: readonly Ancestor[], look: Look): boolean =>
  ancestors.some(({ pid, started }) => look(pid)?.started !== started);

/** Finds a process on Linux, in /proc. */
export const lookInProc: Look = (pid) => {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // `pid (name) state ppid …`, and the start is the 22nd field (proc_pid_stat(5)); a name may hold anything.
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, name, parent: Number(fields[1]), started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
};

/**
 * Finds a process with `ps` on any other Unix. On macOS, `ps` prints a path as the name. Without `ps` it finds nothing:
 * this program then does not notice that Pulumi was killed, and runs until its task or its time limit ends.
 */
export const lookByPs: Look = (pid) => {
  try {
    const psArguments = ["-o", "ppid=", "-o", "lstart=", "-o", "comm=", "-p", String(pid)];
    const line = execFileSync("ps", psArguments, {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C" },
    }).trim();
    // `ppid Sun Nov 22 21:00:46 2026 name`
    const [, parent, started, name] =
      /^(\d+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined
      ? undefined
      : { pid, name: path.basename(name), parent: Number(parent), started: started! };
  } catch {
    return undefined;
  }
};

/**
 * How this system finds a process, and the milliseconds between two checks: longer with `ps`, which starts a process
 * each time.
 */
const [lookHere, POLL] = fs.existsSync("/proc/self/stat") ? [lookInProc, 1_000] : [lookByPs, 5_000];

/**
 * Returns a function that tells whether the Pulumi process that started this program still waits for the answer. If
 * another program started this one, the function always returns true.
 */
export function pulumiAbove(): () => boolean {
  const ancestors = upToPulumi(process.ppid, lookHere);
  return () => !isOrphaned(ancestors, lookHere);
}

/**
 * Ends the program if Pulumi's command line has ended without stopping it, e.g. after a SIGKILL. Then nothing reads the
 * answer, and Pulumi's plugin would run as long as this program.
 *
 * @param isAwaited whether Pulumi still waits for the answer.
 * @param mayEnd whether the program may end now; false during the drain or reboot of a machine.
 */
export function endWithPulumi(
  isAwaited: () => boolean,
  mayEnd: () => boolean,
  end: () => void,
): void {
  setInterval(() => {
    if (mayEnd() && !isAwaited()) end();
  }, POLL).unref();
}
