import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { hold } from "./held";

/** Process groups of started programs that may still run. */
const running = new Set<number>();

/** Starts a program as the leader of a new process group, so that its child processes can be ended with it. */
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

/** Ends a program and its child processes. */
export function endGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) kill(pid);
}

/** Ends every program that was started here, and their child processes. */
export function endAll(): void {
  for (const pid of running) kill(pid);
}

/** Kills a process group. The group exists until its last process has ended, even if its leader ends earlier. */
function kill(pid: number): void {
  running.delete(pid);
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All processes of the group have ended.
  }
}
