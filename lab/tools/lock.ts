import * as fs from "node:fs";
import * as path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isAlive } from "../../components/clients/is-alive";

/** Milliseconds between two looks at a lock that another process has. */
const lookAgain = 500;

/** Milliseconds after which no work of an owner goes on: its process id is another program's by now. */
const stale = 2 * 3_600_000;

/**
 * Runs `work` while holding a lock that other processes of this computer respect, or waits until it is free; `onWait` is told, once per
 * owner, whose process is waited for. The lock is a symbolic link to its owner's process id, which is made in one step; that of a dead
 * owner is taken away. It spares work, it does not guard it: two that break the same lock at once build into files of their own.
 */
export async function withLock<T>(
  lock: string,
  work: () => Promise<T>,
  { signal, onWait }: { signal?: AbortSignal; onWait?: (pid: number) => void } = {},
): Promise<T> {
  fs.mkdirSync(path.dirname(lock), { recursive: true });
  let told: number | undefined;
  for (let owner = take(lock); owner !== undefined; owner = take(lock)) {
    if (owner !== told) onWait?.((told = owner));
    await pause(lookAgain);
    signal?.throwIfAborted();
  }
  try {
    return await work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

/** Takes the lock; else gives the process that has it. */
function take(lock: string): number | undefined {
  try {
    fs.symlinkSync(String(process.pid), lock);
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const made = fs.lstatSync(lock, { throwIfNoEntry: false });
  if (made === undefined) return take(lock);
  const owner = made.isSymbolicLink() ? Number(fs.readlinkSync(lock)) : Number.NaN;
  if (isAlive(owner) && Date.now() - made.mtimeMs < stale) return owner;
  fs.rmSync(lock, { recursive: true, force: true });
  return take(lock);
}
