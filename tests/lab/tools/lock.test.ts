import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { spawnSync } from "node:child_process";

import { withLock } from "../../../lab/tools/lock";
import { Sandbox } from "./fixture";

describe("the lock between two builders", () => {
  let sandbox: Sandbox;
  let lock: string;
  beforeEach(() => {
    sandbox = new Sandbox();
    lock = path.join(sandbox.folder, "locks/tool.lock");
  });
  afterEach(() => sandbox.remove());

  const owned = (owner: object): string => sandbox.write("locks/tool.lock/owner.json", JSON.stringify(owner));
  const deadPid = (): number => spawnSync(process.execPath, ["-e", ""]).pid;

  test("lets one work at a time, and leaves nothing", async () => {
    let working = 0;
    let most = 0;
    const waited: number[] = [];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++working);
      await new Promise((resolve) => setImmediate(resolve));
      working--;
    };
    await Promise.all([1, 2, 3].map(() => withLock(lock, work, { onWait: (pid) => waited.push(pid) })));
    expect(most).toBe(1);
    expect(waited).toContain(process.pid);
    expect(fs.readdirSync(path.dirname(lock))).toEqual([]);
  });

  test("is released when the work fails", async () => {
    await expect(withLock(lock, () => Promise.reject(new Error("no network")))).rejects.toThrow("no network");
    expect(await withLock(lock, () => Promise.resolve("done"))).toBe("done");
  });

  test("of a dead owner is broken", async () => {
    owned({ pid: deadPid(), host: os.hostname() });
    expect(await withLock(lock, () => Promise.resolve("done"))).toBe("done");
  });

  test("of an owner that has been silent for long is broken, even if its id lives on", async () => {
    owned({ pid: process.pid, host: os.hostname() });
    fs.utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    expect(await withLock(lock, () => Promise.resolve("done"))).toBe("done");
  });

  test("of a process elsewhere that shares the folder is respected; the wait ends on abort", async () => {
    owned({ pid: deadPid(), host: "another-host" });
    const stop = new AbortController();
    const work = jest.fn();
    const waiting = withLock(lock, work, { signal: stop.signal, onWait: () => stop.abort(new Error("stopped")) });
    await expect(waiting).rejects.toThrow("stopped");
    expect(work).not.toHaveBeenCalled();
    expect(fs.existsSync(lock)).toBe(true);
  });
});
