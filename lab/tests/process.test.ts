import { type ChildOptions, type Child, spawnChild } from "../session/process";

/** Starts a Node program that ends with its standard input, unless its script does something else. */
function start<T = unknown>(
  script: string,
  options: Partial<ChildOptions> = {},
): Promise<Child<T>> {
  return spawnChild<T>(process.execPath, ["-e", script], { name: "emulator", ...options });
}

const readyScript =
  'console.log(JSON.stringify({ port: 50000 })); process.stdin.resume().on("end", () => process.exit(0));';

describe("a child process of the lab", () => {
  test("that ignores the end of its input and SIGTERM is killed", async () => {
    const script = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("{}");`;
    const child = await start(script, { stopLimit: 100 });
    await child.stop();
    expect(() => process.kill(child.pid, 0)).toThrow("ESRCH");
  });

  test("that ends before it is ready is an error with the end of its output", async () => {
    const script = 'for (let i = 0; i < 50; i++) console.error("line " + i); process.exitCode = 3;';
    const error = await start(script).catch(String);
    expect(error).toContain(
      "emulator: ended (exit status 3), and the lab cannot continue without it;",
    );
    expect(error).toMatch(/output:\nline 10\n[^]*line 49$/);
  });

  test.each<[string, string, Partial<ChildOptions>, string]>([
    [
      "prints no JSON first",
      readyScript.replace("JSON.stringify({ port: 50000 })", '"hello"'),
      {},
      'its first line is not JSON: "hello"',
    ],
    [
      "prints nothing in time",
      "setInterval(() => {}, 1000)",
      { startLimit: 100 },
      "emulator: not ready after 0.1 s",
    ],
  ])("that %s is reported", async (_what, script, options, message) => {
    await expect(start(script, options)).rejects.toThrow(message);
  });

  test("that does not exist is reported with its name", async () => {
    await expect(spawnChild("/nowhere/machines", [], { name: "machines" })).rejects.toThrow(
      /^machines: cannot be started \(spawn \/nowhere\/machines ENOENT\), and the lab cannot continue without it; check/,
    );
  });

  test("is stopped by its signal before and after it is ready, and is not started after the signal", async () => {
    const stop = new AbortController();
    const child = await start(readyScript, { signal: stop.signal });
    const starting = start("process.stdin.resume()", { signal: stop.signal });
    stop.abort(new Error("stopped by the user"));
    await expect(starting).rejects.toThrow("stopped by the user");
    await child.ended;
    await expect(start(readyScript, { signal: stop.signal })).rejects.toThrow(
      "stopped by the user",
    );
  });
});
