import * as fs from "node:fs";
import * as path from "node:path";

import { cacheFolder, cacheKey, forgetOldVersions } from "../../tools/cache";
import type { ToolDefinition } from "../../tools/definition";
import { Sandbox } from "./fixture";

const toolchain = { version: "go1.26.8", os: "linux", arch: "amd64" };

describe("the cache of built tools", () => {
  let sandbox: Sandbox;
  let tool: ToolDefinition;
  beforeEach(() => {
    sandbox = new Sandbox();
    tool = sandbox.createTool();
  });
  afterEach(() => sandbox.remove());

  test.each([
    ["a source", "module/main.go", "package main\n", true],
    ["a source in a package below", "module/internal/deep/deep.go", "package deep\n", true],
    ["the pins", "module/go.mod", "module example.test/tool\n\ngo 1.26.1\n", true],
    ["the checksums", "module/go.sum", "example.test/other v1.0.0 h1:x=\n", true],
    ["a file that may be embedded", "module/data/rules.json", "{}", true],
    ["TypeScript", "module/index.ts", "export {};\n", false],
    ["a Go test", "module/main_test.go", "package main\n", false],
    ["test data", "module/testdata/input.json", "{}", false],
    ["prose", "module/README.md", "# Tool\n", false],
  ])(
    "a change of %s (%s to %j) changes the cache key: %j",
    async (_what, name, content, changesKey) => {
      const keyBefore = await cacheKey(tool, toolchain);
      sandbox.write(name, content);
      expect((await cacheKey(tool, toolchain)) !== keyBefore).toBe(changesKey);
    },
  );

  test("the key depends on stamps, toolchain and platform, not on folder or time", async () => {
    const otherSandbox = new Sandbox();
    const keys = await Promise.all([
      cacheKey(tool, toolchain),
      cacheKey({ ...tool, stamps: ["main.version=v3.1.3"] }, toolchain),
      cacheKey({ ...tool, modules: { require: ["example.test/other v1.0.0"] } }, toolchain),
      cacheKey(tool, { ...toolchain, version: "go1.27.0" }),
      cacheKey(tool, { ...toolchain, os: "darwin" }),
      cacheKey(tool, { ...toolchain, arch: "arm64" }),
    ]);
    expect(new Set(keys).size).toBe(keys.length);
    expect(await cacheKey(otherSandbox.createTool(), toolchain)).toBe(keys[0]);
    expect(keys[0]).toMatch(/^[0-9a-f]{16}$/);
    otherSandbox.remove();
  });

  test.each([
    [{ XDG_CACHE_HOME: "/caches", HOME: "/home/arya" }, "/caches/talos-gpu/tools"],
    [{ HOME: "/home/arya" }, "/home/arya/.cache/talos-gpu/tools"],
    [{ XDG_CACHE_HOME: "relative", HOME: "/home/arya" }, "/home/arya/.cache/talos-gpu/tools"],
  ])("with the environment %j, the folder is %s", (env, expected) => {
    expect(cacheFolder(env)).toBe(expected);
  });

  test("ignores an unfinished entry that another process renames while the cache is read", async () => {
    const cache = path.join(sandbox.folder, "cache");
    const keys = [..."0123456789abcd"].map((digit) => digit.repeat(16));
    for (const key of keys) sandbox.write(`cache/helm-${key}/helm`, "binary");
    // This name is in the listing, but the entry was renamed before it is read.
    const names = [...fs.readdirSync(cache), "pulumi-0000000000000000.123.unfinished"];
    const readdirSpy = jest.spyOn(fs.promises, "readdir").mockResolvedValueOnce(names as never);
    await forgetOldVersions(cache, tool.name);
    readdirSpy.mockRestore();
    expect(fs.readdirSync(cache)).toHaveLength(12);
  });

  test("keeps the twelve versions used last, other tools, and unfinished builds of other processes", async () => {
    const cache = path.join(sandbox.folder, "cache");
    const keys = [..."0123456789abcd"].map((digit) => digit.repeat(16));
    for (const [age, key] of keys.entries()) {
      sandbox.write(`cache/helm-${key}/helm`, "binary");
      const usedAt = new Date(Date.now() - age * 60_000);
      fs.utimesSync(path.join(cache, `helm-${key}`), usedAt, usedAt);
    }
    sandbox.write("cache/pulumi-0000000000000000/pulumi", "binary");
    fs.utimesSync(sandbox.write("cache/helm-123.unfinished", "half a binary"), 0, 0);
    sandbox.write("cache/helm-124.unfinished", "half a binary");

    await forgetOldVersions(cache, tool.name);

    const newestVersions = keys.slice(0, 12).map((key) => `helm-${key}`);
    expect(fs.readdirSync(cache)).toEqual(
      [...newestVersions, "helm-124.unfinished", "pulumi-0000000000000000"].sort(),
    );
  });
});
