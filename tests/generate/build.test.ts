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

/** A program that writes down its begin, and ends once the other one has begun too. */
const waits = (own: string, other: string, status: number): string =>
  `const fs = require("node:fs");
fs.writeFileSync("${own}", "");
const looks = setInterval(() => {
  if (!fs.existsSync("${other}")) return;
  clearInterval(looks);
  process.exitCode = ${status};
}, 5);`;

/** Builds a repository whose compiler and generator end with these statuses; returns the status of the build. */
function build(compiler: number, generator: number): number | null {
  fs.rmSync(root, { recursive: true, force: true });
  for (const name of ["build", "bundles", "kubernetes-client"]) {
    const file = `generate/package/${name}.js`;
    write(file, fs.readFileSync(path.join(repository, file), "utf8"));
  }
  write("node_modules/typescript/bin/tsc", waits("compiler", "generator", compiler));
  const exported = { name: "tsx", exports: { "./cli": "./cli.js" } };
  write("node_modules/tsx/package.json", JSON.stringify(exported));
  write("node_modules/tsx/cli.js", waits("generator", "compiler", generator));
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

const isThere = (file: string): boolean => fs.existsSync(path.join(root, "components", file));

test("the build runs compiler and schema generator at the same time, and then makes bundles and copies", () => {
  expect(build(0, 0)).toBe(0);
  const made = ["bin/program.js", "bin/stack.schema.json", "bin/schema.json", "LICENSE"];
  expect(made.filter((file) => !isThere(file))).toEqual([]);
});

test.each([
  [2, 0],
  [0, 3],
])(
  "if the compiler exits with %d and the generator with %d, the build fails and leaves no program",
  (compiler, generator) => {
    expect(build(compiler, generator)).toBe(compiler || generator);
    expect(isThere("bin/program.js")).toBe(false);
  },
);
