import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { repository } from "../../stacks/stack-file";

// The build of components runs its two long steps at the same time. After a failed build the bundles count as
// stale.

const root = fs.mkdtempSync(path.join(os.tmpdir(), "build-"));
afterAll(() => fs.rmSync(root, { recursive: true }));

function write(file: string, text: string): void {
  fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  fs.writeFileSync(path.join(root, file), text);
}

/** A program that writes its own file, and ends with the status once the other program has written its file too. */
const programThatWaits = (ownFile: string, otherFile: string, status: number): string =>
  `const fs = require("node:fs");
fs.writeFileSync("${ownFile}", "");
const timer = setInterval(() => {
  if (!fs.existsSync("${otherFile}")) return;
  clearInterval(timer);
  process.exitCode = ${status};
}, 5);`;

/** Builds a repository whose compiler and generator end with these statuses; returns the status of the build. */
function build(compiler: number, generator: number): number | null {
  fs.rmSync(root, { recursive: true, force: true });
  for (const name of ["build", "bundles", "kubernetes-client"]) {
    const file = `generate/package/${name}.js`;
    write(file, fs.readFileSync(path.join(repository, file), "utf8"));
  }
  write("node_modules/typescript/bin/tsc", programThatWaits("compiler", "generator", compiler));
  const exported = { name: "tsx", exports: { "./cli": "./cli.js" } };
  write("node_modules/tsx/package.json", JSON.stringify(exported));
  write("node_modules/tsx/cli.js", programThatWaits("generator", "compiler", generator));
  write(
    "node_modules/esbuild/index.js",
    `exports.build = async ({ outdir }) => {
      const fs = require("node:fs");
      fs.mkdirSync(outdir, { recursive: true });
      fs.writeFileSync(outdir + "/program.js", "");
    };`,
  );
  write("components/bin/program.js", "of an earlier build");
  for (const file of ["stacks/stack.schema.json", "sdk/schema.json", "LICENSE"]) write(file, file);
  const script = path.join(root, "generate/package/build.js");
  return spawnSync(process.execPath, [script], { cwd: path.join(root, "components") }).status;
}

const exists = (file: string): boolean => fs.existsSync(path.join(root, "components", file));

test("the build runs compiler and schema generator at the same time, and then makes bundles and copies", () => {
  expect(build(0, 0)).toBe(0);
  const outputs = ["bin/program.js", "bin/stack.schema.json", "bin/schema.json", "LICENSE"];
  expect(outputs.filter((file) => !exists(file))).toEqual([]);
});

test.each([
  [2, 0],
  [0, 3],
])(
  "if the compiler exits with %d and the generator with %d, the build fails and leaves no program",
  (compiler, generator) => {
    expect(build(compiler, generator)).toBe(compiler || generator);
    expect(exists("bin/program.js")).toBe(false);
  },
);
