import { execFileSync, spawnSync } from "node:child_process";
import * as path from "node:path";

import type { ToolDefinition } from "../../tools/definition";
import { provide as provideAll, type ProvideOptions } from "../../tools/provide";
import { Sandbox } from "./fixture";

const provide = async (tool: ToolDefinition, options: ProvideOptions): Promise<string> =>
  (await provideAll([tool], options))[tool.name]!;

describe("provideAll", () => {
  let sandbox: Sandbox;
  let options: ProvideOptions;
  beforeEach(() => {
    sandbox = new Sandbox();
    options = { env: sandbox.env(), onEvent: (event) => sandbox.events.push(event) };
  });
  afterEach(() => sandbox.remove());

  test("builds a tool once, with its version in it", async () => {
    const tool = sandbox.createTool();
    const binary = await provide(tool, options);
    // println writes to standard error.
    expect(spawnSync(binary, { encoding: "utf8" }).stderr).toBe("v3.1.2\n");
    expect(sandbox.eventStates()).toEqual(["building", "built"]);
    expect(sandbox.cacheEntries()).toEqual([path.basename(path.dirname(binary))]);

    sandbox.events.length = 0;
    expect(await provide(tool, options)).toBe(binary);
    expect(sandbox.eventStates()).toEqual(["cached"]);
  });

  test("builds a tool once for two labs at the same time", async () => {
    const tool = sandbox.createTool();
    const [firstPath, secondPath] = await Promise.all([
      provide(tool, options),
      provide(tool, options),
    ]);
    expect(firstPath).toBe(secondPath);
    expect(sandbox.events.filter(({ state }) => state === "built")).toHaveLength(1);
    expect(sandbox.events.filter(({ state }) => state === "cached")).toHaveLength(1);
    expect(sandbox.events.map(({ detail }) => detail)).toContain(
      `waiting for process ${process.pid}, which builds it`,
    );
  });

  test("shows the end of a failed build's output, and can build again", async () => {
    const broken = `package main\n\nfunc main() {\n${"\tmissing()\n".repeat(3)}}\n`;
    const error = await provide(sandbox.createTool(broken), options).catch(String);
    expect(error).toMatch(
      /helm: `go build` ended with exit status 1, and the lab cannot run without helm; fix[^]*main\.go:4:2: undefined: missing/,
    );
    expect(sandbox.eventStates()).toEqual(["building", "failed"]);
    expect(sandbox.cacheEntries()).toEqual([]);

    expect(await provide(sandbox.createTool(), options)).toContain("/helm");
  });

  test("says what to install if Go is missing", async () => {
    const env = { ...options.env, PATH: sandbox.folder };
    await expect(provide(sandbox.createTool(), { ...options, env })).rejects.toThrow(
      "helm: there is no `go` on PATH, and the lab builds helm from source; " +
        "install Go 1.26.0 or newer (https://go.dev/dl)",
    );
    expect(sandbox.eventStates()).toEqual(["failed"]);
  });

  test.each([
    [
      "a release before toolchains",
      `echo '{"GOVERSION":"go1.20.14","GOOS":"linux","GOARCH":"amd64"}'`,
      "go1.20.14",
    ],
    [
      "a release that may not fetch a toolchain",
      "echo 'go: go.mod requires go >= 1.26.0 (running go 1.24.1)' >&2; exit 1",
      "running go 1.24.1",
    ],
  ])("reports a Go that is too old: %s", async (_why, body, expectedVersion) => {
    sandbox.writeScript("go-bin/go", body);
    const error = await provide(sandbox.createTool(), {
      ...options,
      env: sandbox.env("go-bin"),
    }).catch(String);
    expect(error).toContain("helm: Go is too old (");
    expect(error).toContain(expectedVersion);
    expect(error).toContain("and its sources need Go 1.26.0; install Go 1.26.0 or newer");
  });

  test("ends Go on abort, and leaves no incomplete tool", async () => {
    // With a cache of its own, Go compiles the standard library first: some seconds.
    const tool = sandbox.createTool('package main\n\nimport _ "net/http"\n\nfunc main() {}\n');
    const env = { ...options.env, GOCACHE: path.join(sandbox.folder, "go-cache") };
    const stop = new AbortController();
    const onEvent: ProvideOptions["onEvent"] = ({ state }) => {
      if (state === "building") setTimeout(() => stop.abort(new Error("stopped by the user")), 300);
    };
    await expect(provide(tool, { env, onEvent, signal: stop.signal })).rejects.toThrow(
      "stopped by the user",
    );
    expect(sandbox.cacheEntries()).toEqual([]);
    expect(execFileSync("ps", ["-axww", "-o", "command"], { encoding: "utf8" })).not.toContain(
      sandbox.folder,
    );
  });
});
