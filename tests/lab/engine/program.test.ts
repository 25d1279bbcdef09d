import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";

// Jest has a module registry of its own, so this runs where the lab runs: under tsx, in a process of its own.
test("a program's modules are evaluated anew for every update, packages and kept folders are not", async () => {
  const dir = await mkdtemp(path.join(tmpdir(), "talos-gpu-program-"));
  try {
    const files = {
      "program.ts": `import { count } from "./part"; import { kept } from "./kept/part"; import { pack } from "pack";
        export const counts = [count, kept, pack];`,
      "part.ts": `const g = globalThis as any; g.part = (g.part ?? 0) + 1; export const count: number = g.part;`,
      "kept/part.ts": `const g = globalThis as any; g.kept = (g.kept ?? 0) + 1; export const kept: number = g.kept;`,
      "node_modules/pack/index.js": `globalThis.pack = (globalThis.pack ?? 0) + 1; exports.pack = globalThis.pack;`,
      "main.ts": `import { programFromFile } from ${JSON.stringify(path.resolve("lab/engine/program"))};
        const program = programFromFile(__dirname + "/program.ts", __dirname, [__dirname + "/kept"]);
        (async () => console.log(JSON.stringify([await program(), await program()])))();`,
      "package.json": `{"type": "commonjs"}`,
    };
    for (const [name, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(dir, name)), { recursive: true });
      await writeFile(path.join(dir, name), content);
    }
    const tsx = path.resolve("node_modules/tsx/dist/cli.mjs");
    const { stdout } = await promisify(execFile)(process.execPath, [tsx, path.join(dir, "main.ts")]);
    expect(JSON.parse(stdout)).toEqual([{ counts: [1, 1, 1] }, { counts: [2, 1, 1] }]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
