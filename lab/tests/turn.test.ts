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
  const [endFirst, endSecond] = [await takeTurn({ env }), await takeTurn({ env })];
  const onWait = jest.fn();
  let hasThirdStarted = false;
  const third = takeTurn({ env, onWait }).then((end) => {
    hasThirdStarted = true;
    return end;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasThirdStarted).toBe(false);
  expect(onWait.mock.calls).toEqual([[2]]);
  endSecond();
  const endThird = await third;
  // A second call of this function must not free another lab's place.
  endSecond();
  expect(fs.readdirSync(folder)).toHaveLength(2);
  endFirst();
  endThird();
  expect(fs.readdirSync(folder)).toEqual([]);
});

test("the next lab starts when another one is killed", async () => {
  const otherLab = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  fs.symlinkSync(String(otherLab.pid), path.join(folder, "0"));
  const endFirst = await takeTurn({ env });
  const waiting = takeTurn({ env, onWait: () => otherLab.kill("SIGKILL") });
  await once(otherLab, "exit");
  const endSecond = await waiting;
  endSecond();
  endFirst();
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
