import * as fs from "node:fs";
import * as path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isAlive } from "../../components/clients/is-alive";

/** Milliseconds between two checks of a lock that another process has. */
const checkInterval = 500;

/** Milliseconds after which a lock counts as abandoned: by then its process ID may belong to another program. */
const staleAfter = 2 * 3_600_000;

/**
 * Waits for a lock of this computer's processes, and runs `work` while it has the lock. `onWait` receives the process
 * ID of each owner that it waits for. The lock only saves work. If two processes break the same lock at once, each
 * builds into files of its own.
 */
export async function withLock<T>(
  file: string,
  work: () => Promise<T>,
  { signal, onWait }: { signal?: AbortSignal; onWait?: (pid: number) => void } = {},
): Promise<T> {
  let reportedOwner: number | undefined;
  let lock = tryLock(file);
  while ("owner" in lock) {
    if (lock.owner !== reportedOwner) onWait?.((reportedOwner = lock.owner));
    await pause(checkInterval);
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
 * Takes a lock if it is free. The lock is a symbolic link to its owner's process ID, so it is made in one step. The
 * lock of a process that has ended is free.
 *
 * @returns a function that releases the lock, or the process ID of its owner
 */
export function tryLock(file: string): { release: () => void } | { owner: number } {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  try {
    fs.symlinkSync(String(process.pid), file);
    let isHeld = true;
    const release = (): void => {
      if (isHeld) fs.rmSync(file, { force: true }); // later the lock may belong to another process
      isHeld = false;
    };
    return { release };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const existing = fs.lstatSync(file, { throwIfNoEntry: false });
  if (existing === undefined) return tryLock(file);
  const owner = existing.isSymbolicLink() ? Number(fs.readlinkSync(file)) : Number.NaN;
  if (isAlive(owner) && Date.now() - existing.mtimeMs < staleAfter) return { owner };
  fs.rmSync(file, { recursive: true, force: true });
  return tryLock(file);
}
