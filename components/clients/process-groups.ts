import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { hold } from "./held";

/** Groups of programs that we started and that may still run. */
const running = new Set<number>();

/** Starts a program as the leader of a group of its own, so that whatever it starts can be ended with it. */
export function startGroup(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  hold();
  const child = spawn(command, args, { ...options, detached: true });
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  return child;
}

/** Ends a program with everything that it started. */
export function endGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) kill(pid);
}

/** Ends every program that was started here, with everything that it started. */
export function endAll(): void {
  for (const pid of running) kill(pid);
}

/** Kills a group. It lasts as long as any of its processes, also when its leader has ended. */
function kill(pid: number): void {
  running.delete(pid);
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All processes of the group have ended.
  }
}
