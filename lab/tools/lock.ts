import * as fs from "node:fs";
import * as path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isAlive } from "../../components/clients/is-alive";

/** Milliseconds between two looks at a lock that another process has. */
const lookAgain = 500;

/** Milliseconds after which no work of an owner goes on: its process id is another program's by now. */
const stale = 2 * 3_600_000;

/**
 * Runs `work` while holding a lock that other processes of this computer respect, or waits until it is free; `onWait` hears, once per
 * owner, whose process is awaited. It spares work, it does not guard it: two that break the same lock at once build into files of
 * their own.
 */
export async function withLock<T>(
  file: string,
  work: () => Promise<T>,
  { signal, onWait }: { signal?: AbortSignal; onWait?: (pid: number) => void } = {},
): Promise<T> {
  let told: number | undefined;
  let lock = tryLock(file);
  while ("owner" in lock) {
    if (lock.owner !== told) onWait?.((told = lock.owner));
    await pause(lookAgain);
    signal?.throwIfAborted();
    lock = tryLock(file);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/**
 * Takes a lock if it is free. The lock is a symbolic link to its owner's process id, which is made in one step. The lock of a dead
 * process is free.
 *
 * @returns what releases it, or the process that has it.
 */
export function tryLock(file: string): { release: () => void } | { owner: number } {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  try {
    fs.symlinkSync(String(process.pid), file);
    let held = true;
    const release = (): void => {
      if (held) fs.rmSync(file, { force: true }); // later it may be another's
      held = false;
    };
    return { release };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const made = fs.lstatSync(file, { throwIfNoEntry: false });
  if (made === undefined) return tryLock(file);
  const owner = made.isSymbolicLink() ? Number(fs.readlinkSync(file)) : Number.NaN;
  if (isAlive(owner) && Date.now() - made.mtimeMs < stale) return { owner };
  fs.rmSync(file, { recursive: true, force: true });
  return tryLock(file);
}
