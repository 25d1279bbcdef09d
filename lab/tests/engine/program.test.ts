import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";

// Jest has a module registry of its own, so this runs as the lab runs: from a bundle, in a process of its own.
test("a program is evaluated anew for every update, packages are not", async () => {
  const dir = await mkdtemp(path.join(tmpdir(), "talos-gpu-program-"));
  try {
    const files = {
      "program.js": `globalThis.own = (globalThis.own ?? 0) + 1;
        exports.counts = [globalThis.own, require("pack").pack];`,
      "node_modules/pack/index.js": `globalThis.pack = (globalThis.pack ?? 0) + 1; exports.pack = globalThis.pack;`,
      "main.ts": `import { programFromFile } from ${JSON.stringify(path.resolve("lab/engine/program"))};
        const program = programFromFile(${JSON.stringify(path.join(dir, "program.js"))});
        (async () => console.log(JSON.stringify([await program(), await program()])))();`,
      "package.json": `{"type": "commonjs"}`,
    };
    for (const [name, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(dir, name)), { recursive: true });
      await writeFile(path.join(dir, name), content);
    }
    const outfile = path.join(dir, "main.js");
    await build({ entryPoints: [path.join(dir, "main.ts")], outfile, bundle: true, platform: "node" });
    const { stdout } = await promisify(execFile)(process.execPath, [outfile]);
    expect(JSON.parse(stdout)).toEqual([{ counts: [1, 1] }, { counts: [2, 1] }]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
