import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { takeTurn } from "../session/turn";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-turns-"));
const env = { TALOS_GPU_LABS_AT_ONCE: "2", TALOS_GPU_LAB_TURNS: folder };
afterAll(() => fs.rmSync(folder, { recursive: true }));
afterEach(() => fs.readdirSync(folder).forEach((place) => fs.rmSync(path.join(folder, place))));

test("only as many labs run as the limit allows, and the next one starts when another ends", async () => {
  const [first, second] = [await takeTurn({ env }), await takeTurn({ env })];
  const onWait = jest.fn();
  let started = false;
  const third = takeTurn({ env, onWait }).then((end) => {
    started = true;
    return end;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect([started, onWait.mock.calls]).toEqual([false, [[2]]]);
  second();
  const end = await third;
  // A second call of this function must not free another lab's place.
  second();
  expect(fs.readdirSync(folder)).toHaveLength(2);
  first();
  end();
  expect(fs.readdirSync(folder)).toEqual([]);
});

test("the next lab starts when another one is killed", async () => {
  const killed = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  fs.symlinkSync(String(killed.pid), path.join(folder, "0"));
  const held = await takeTurn({ env });
  const waiting = takeTurn({ env, onWait: () => killed.kill("SIGKILL") });
  await once(killed, "exit");
  (await waiting)();
  held();
});

test("the wait ends when the lab is stopped", async () => {
  const ends = [await takeTurn({ env }), await takeTurn({ env })];
  const stop = new AbortController();
  const waiting = takeTurn({
    env,
    signal: stop.signal,
    onWait: () => stop.abort(new Error("stopped by SIGINT")),
  });
  await expect(waiting).rejects.toThrow("stopped by SIGINT");
  ends.forEach((end) => end());
});

test("without a limit no lab waits", async () => {
  const ends = await Promise.all([1, 2, 3, 4].map(() => takeTurn({ env: {} })));
  ends.forEach((end) => end());
});
