import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { randomUUID } from "node:crypto";
import { isAlive } from "../../components/clients/is-alive";

/** How often the owner shows that it lives, in milliseconds. */
const HEARTBEAT = 5_000;
/** Silence after which an owner counts as gone, e.g. one whose process id another program has by now. */
const STALE = 30_000;
/** A waiter looks again this often even if nothing moved: an owner that is killed tells nobody. */
const LOOK_AGAIN = 1_000;

interface Owner {
  pid: number;
  host: string;
}

/**
 * Runs `work` while holding a lock that other processes respect, or waits until it is free.
 *
 * The lock is a folder that is renamed into place with its owner already written in it, which succeeds for one. It spares
 * work, it does not guard it: two that break the same stale lock at once may both go on, and then build the same thing
 * into files of their own.
 *
 * @param onWait is told, once per owner, whose process is being waited for.
 */
export async function withLock<T>(
  lock: string,
  work: () => Promise<T>,
  options: { signal?: AbortSignal; onWait?: (pid: number) => void } = {},
): Promise<T> {
  fs.mkdirSync(path.dirname(lock), { recursive: true });
  let waitingFor: number | undefined;
  for (;;) {
    // Looked at first, as trying would move things in the folder, and wake those who wait for just that.
    const owner = ownerOf(lock);
    if (owner === "gone") discard(lock);
    if (typeof owner === "string") {
      if (acquire(lock)) break;
      continue;
    }
    if (waitingFor !== owner.pid) options.onWait?.((waitingFor = owner.pid));
    await untilMoved(lock, options.signal);
    options.signal?.throwIfAborted();
  }
  const heartbeat = setInterval(() => touch(lock), HEARTBEAT);
  heartbeat.unref();
  const release = (): void => discard(lock);
  process.once("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    process.removeListener("exit", release);
    release();
  }
}

/** Takes the lock if nobody has it. */
function acquire(lock: string): boolean {
  const mine = `${lock}.${randomUUID()}`;
  const owner: Owner = { pid: process.pid, host: os.hostname() };
  fs.mkdirSync(mine);
  fs.writeFileSync(path.join(mine, "owner.json"), JSON.stringify(owner));
  try {
    // A folder never replaces one that is not empty (rename(2): ENOTEMPTY or EEXIST).
    fs.renameSync(mine, lock);
    return true;
  } catch (error) {
    fs.rmSync(mine, { recursive: true, force: true });
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
}

/** Takes the lock away in one step, so that nobody finds it without its owner. */
function discard(lock: string): void {
  const old = `${lock}.${randomUUID()}`;
  try {
    fs.renameSync(lock, old);
  } catch (error) {
    // Another process was first.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  fs.rmSync(old, { recursive: true, force: true });
}

/** Who has the lock: its owner, `gone` when that one is dead, `free` when the lock was released meanwhile. */
function ownerOf(lock: string): Owner | "gone" | "free" {
  try {
    const owner = JSON.parse(fs.readFileSync(path.join(lock, "owner.json"), "utf8")) as Owner;
    const silent = Date.now() - fs.statSync(lock).mtimeMs;
    const dead = owner.host === os.hostname() && !isAlive(owner.pid);
    return dead || silent > STALE ? "gone" : owner;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && !fs.existsSync(lock)) return "free";
    return "gone";
  }
}

function touch(lock: string): void {
  const now = new Date();
  // Broken by another process while this one slept: nothing to show any more.
  fs.utimes(lock, now, now, () => {});
}

/** Resolves when the lock comes or goes, on abort, or after a while. */
function untilMoved(lock: string, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const watcher = fs.watch(path.dirname(lock));
    const timer = setTimeout(done, LOOK_AGAIN);
    function done(): void {
      clearTimeout(timer);
      watcher.close();
      signal?.removeEventListener("abort", done);
      resolve();
    }
    watcher.on("change", (_event, name) => {
      if (name === path.basename(lock)) done();
    });
    // Where folders cannot be watched, the timer has to do.
    watcher.on("error", () => {});
    signal?.addEventListener("abort", done, { once: true });
    if (signal?.aborted === true) done();
  });
}
