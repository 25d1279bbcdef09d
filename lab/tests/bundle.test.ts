import { execFile } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { bundle } from "../bundle/bundle";

const run = promisify(execFile);
let dir: string;

beforeAll(() => {
  dir = realpathSync(mkdtempSync(path.join(tmpdir(), "talos-gpu-bundle-")));
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Writes a program of two files below `dir`. */
function writeProgram(name: string, partSource: string): string {
  const file = path.join(dir, name);
  writeFileSync(path.join(dir, "part.ts"), partSource);
  // With a shebang, like a main file that a shell can start.
  writeFileSync(
    file,
    `#!/usr/bin/env node\nimport { part } from "./part";\nconsole.log(part(), __dirname, process.argv.slice(2).join());`,
  );
  return file;
}

test("a bundled program has its source's __dirname and the given arguments, and its errors name lines of the source", async () => {
  const runner = path.resolve("lab/bundle/run.js");
  const file = writeProgram("prints.ts", `export const part = (): string => "printed";`);
  expect((await run(process.execPath, [runner, file, "--one", "two"])).stdout).toBe(
    `printed ${dir} --one,two\n`,
  );
  writeProgram(
    "prints.ts",
    `export const part = (): string => {\n\n  throw new Error("mine");\n};`,
  );
  await expect(run(process.execPath, [runner, file])).rejects.toThrow(/mine[^]*part\.ts:3:/);
});

test("an error of a bundled test program has the line of its source", async () => {
  const file = path.join(dir, "fails.ts");
  const programModule = path.resolve("tests/e2e/runs/run-as-program");
  writeFileSync(
    file,
    `import { runAsProgram } from ${JSON.stringify(programModule)};\nrunAsProgram(async () => {\n  throw new Error("mine");\n});\n`,
  );
  const running = run(process.execPath, [path.resolve("lab/bundle/run.js"), file]);
  await expect(running).rejects.toThrow(/Error: mine[^]*fails\.ts:3:/);
});

test("a bundle is reused until one of its sources changes", async () => {
  const file = writeProgram("changes.ts", `export const part = (): number => 1;`);
  const first = await bundle(file);
  const firstInode = statSync(first).ino;
  expect(await bundle(file)).toBe(first);
  expect(statSync(first).ino).toBe(firstInode);
  writeProgram("changes.ts", `export const part = (): number => 2;`);
  const second = await bundle(file);
  expect(second).not.toBe(first);
  expect((await run(process.execPath, [second])).stdout).toMatch(/^2 /);
});

test("a program loads the compiler in Pulumi's SDK only when it serializes a function", async () => {
  const file = path.join(dir, "serializes.ts");
  writeFileSync(
    file,
    `import { runtime } from "@pulumi/pulumi";
const loaded = (): boolean =>
  Object.values(require.cache).some(({ filename, exports }) => /typescript[\\\\/]lib/.test(filename) && "SyntaxKind" in exports);
const before = loaded();
const twice = (value: number): number => 2 * value;
void runtime.serializeFunction(() => twice(21)).then(({ text }) => console.log(before, loaded(), text.includes("twice")));`,
  );
  const { stdout } = await run(process.execPath, [path.resolve("lab/bundle/run.js"), file]);
  expect(stdout).toBe("false true true\n");
});
