import * as path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { tryLock } from "../tools/lock";

/** Milliseconds between two attempts to take a place. */
const retryInterval = 500;

/**
 * Waits for one of the places that labs may have at the same time. The tests set two variables
 * (tests/support/jest/lab-turns.js): the number of places, TALOS_GPU_LABS_AT_ONCE, and the folder in which their locks lie,
 * TALOS_GPU_LAB_TURNS. Several test files start labs, each lab in a process of its own. Without the variables there is
 * no bound, and this resolves at once.
 *
 * @param onWait is called once if there is no free place.
 * @returns a function that gives the place back.
 * @throws the signal's reason when it aborts meanwhile.
 */
export async function takeTurn({
  env = process.env,
  signal,
  onWait,
}: {
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  onWait?: (maxLabs: number) => void;
} = {}): Promise<() => void> {
  const maxLabs = Number(env["TALOS_GPU_LABS_AT_ONCE"]);
  const folder = env["TALOS_GPU_LAB_TURNS"];
  if (!(maxLabs > 0) || !folder) return () => {};
  for (let isWaiting = false; ; isWaiting = true) {
    signal?.throwIfAborted();
    for (let place = 0; place < maxLabs; place++) {
      const lock = tryLock(path.join(folder, String(place)));
      if ("release" in lock) return lock.release;
    }
    if (!isWaiting) onWait?.(maxLabs);
    await pause(retryInterval);
  }
}
