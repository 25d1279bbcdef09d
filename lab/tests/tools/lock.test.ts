import * as fs from "node:fs";
import * as path from "node:path";
import { spawnSync } from "node:child_process";

import { withLock } from "../../tools/lock";
import { Sandbox } from "./fixture";

describe("the lock between two builders", () => {
  const sandbox = new Sandbox();
  const lock = path.join(sandbox.folder, "locks/tool.lock");
  afterAll(() => sandbox.remove());

  test("lets only one builder work at a time, and leaves no file", async () => {
    let activeWorkers = 0;
    let maxActiveWorkers = 0;
    const awaitedPids: number[] = [];
    const work = async (): Promise<void> => {
      maxActiveWorkers = Math.max(maxActiveWorkers, ++activeWorkers);
      await new Promise((resolve) => setImmediate(resolve));
      activeWorkers--;
    };
    await Promise.all(
      [1, 2, 3].map(() => withLock(lock, work, { onWait: (pid) => awaitedPids.push(pid) })),
    );
    expect(maxActiveWorkers).toBe(1);
    expect(awaitedPids).toContain(process.pid);
    expect(fs.readdirSync(path.dirname(lock))).toEqual([]);
  });

  test("is released if the work fails", async () => {
    await expect(withLock(lock, () => Promise.reject(new Error("no network")))).rejects.toThrow(
      "no network",
    );
    expect(await withLock(lock, () => Promise.resolve("done"))).toBe("done");
  });

  test("of a dead process is ignored, and the wait for a living process ends on abort", async () => {
    fs.symlinkSync(String(spawnSync(process.execPath, ["-e", ""]).pid), lock);
    expect(await withLock(lock, () => Promise.resolve("done"))).toBe("done");
    fs.symlinkSync(String(process.ppid), lock);
    const stop = new AbortController();
    const work = jest.fn();
    const waiting = withLock(lock, work, {
      signal: stop.signal,
      onWait: () => stop.abort(new Error("stopped")),
    });
    await expect(waiting).rejects.toThrow("stopped");
    expect(work).not.toHaveBeenCalled();
  });
});
