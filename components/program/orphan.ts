import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

/** A process above this one. */
export interface Ancestor {
  pid: number;
  /** Name of its program, as far as the system keeps it (Linux: 15 characters). */
  name: string;
  parent: number;
  /** When it began; a process that has taken over its number began later. */
  started: string;
}

/** Looks a process up; undefined if there is none, or it is unknown. */
export type Look = (pid: number) => Ancestor | undefined;

/** Processes between this program and Pulumi: a shell, Pulumi's plugin, and a wrapper of either. */
const DEPTH = 6;

/**
 * The processes whose end means that nothing waits for this program any more: all up to Pulumi's command line. Above it are a
 * user's shell or a CI runner, which may end before it. None where Pulumi is not found: another program started it.
 */
export function upToPulumi(parent: number, look: Look): Ancestor[] {
  const found: Ancestor[] = [];
  for (let pid = parent; pid > 1 && found.length < DEPTH; pid = found.at(-1)!.parent) {
    const ancestor = look(pid);
    if (ancestor === undefined) break;
    found.push(ancestor);
    if (ancestor.name === "pulumi") return found;
  }
  return [];
}

/** Whether one of them has ended. */
export const isOrphaned = (ancestors: readonly Ancestor[], look: Look): boolean =>
  ancestors.some(({ pid, started }) => look(pid)?.started !== started);

/** Of Linux, which says it in files. */
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

/** Of any other Unix, such as macOS, in whose `ps` a name is a path. Where there is none, the program runs to its end or limit. */
export const lookByPs: Look = (pid) => {
  try {
    const asked = ["-o", "ppid=", "-o", "lstart=", "-o", "comm=", "-p", String(pid)];
    const line = execFileSync("ps", asked, {
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

/** How to look here, and the milliseconds between two looks: `ps` is a process each time. */
const [lookHere, POLL] = fs.existsSync("/proc/self/stat") ? [lookInProc, 1_000] : [lookByPs, 5_000];

/** Whether Pulumi, as it was when the program began, still waits for its answer; always if another program started it. */
export function pulumiAbove(): () => boolean {
  const ancestors = upToPulumi(process.ppid, lookHere);
  return () => !isOrphaned(ancestors, lookHere);
}

/**
 * Ends the program once Pulumi's command line is gone without having ended it, as after a SIGKILL: its answer has no reader, and the
 * plugin stays for as long as the program does.
 *
 * @param isAwaited whether Pulumi still waits
 * @param mayEnd whether it may end now. A machine that is drained or reboots is brought to its end first.
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
