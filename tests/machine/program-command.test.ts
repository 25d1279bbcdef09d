import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import {
  programCommand,
  programCommandHere,
  type Places,
} from "../../components/machine/program-resource/command";

const places = (more: Partial<Places> = {}): Places => ({
  packageRoot: "/src/talos-gpu/components",
  workingDirectory: "/src/talos-gpu/stacks",
  pulumiHome: "/home/me/.pulumi",
  resolve: () => "/src/talos-gpu/components",
  ...more,
});

test("the command runs the package by its name if the working directory resolves this name", () => {
  const text = `node -e "require('talos-gpu/bin/program.js')" -- upgrade`;
  expect(programCommand("upgrade", places())).toBe(text);
  const elsewhere = {
    packageRoot: "/ci/42/node_modules/talos-gpu",
    workingDirectory: "/ci/42/app",
  };
  expect(
    programCommand("upgrade", places({ ...elsewhere, resolve: () => elsewhere.packageRoot })),
  ).toBe(text);
});

test("the command finds an installed plugin below Pulumi's folder when it runs", () => {
  const text = (home: string): string =>
    programCommand(
      "adopt",
      places({
        packageRoot: `${home}/plugins/resource-talos-gpu-v0.1.0/components`,
        pulumiHome: home,
        resolve: () => undefined,
      }),
    );
  expect(text("/home/me/.pulumi")).toBe(text("/root/.pulumi"));
  expect(text("/root/.pulumi")).toContain(
    "'plugins/resource-talos-gpu-v0.1.0/components/bin/program.js'",
  );
});

test("the command runs the package by a relative path if the working directory does not resolve its name", () => {
  expect(programCommand("release", places({ resolve: () => undefined }))).toBe(
    `node -e "require('../components/bin/program.js')" -- release`,
  );
  expect(
    programCommand(
      "release",
      places({ resolve: () => undefined, workingDirectory: "/src/talos-gpu" }),
    ),
  ).toContain("'./components/bin/program.js'");
});

test("the command runs the package by a relative path if the name resolves to another copy", () => {
  expect(
    programCommand("upgrade", places({ resolve: () => "/src/app/node_modules/talos-gpu" })),
  ).toContain("'../components/bin/program.js'");
});

test("in this repository, the command is the same in every working directory", () => {
  const root = path.resolve(__dirname, "../..");
  const before = process.cwd();
  const texts = ["", "stacks", "components"].map((folder) => {
    process.chdir(path.join(root, folder));
    return programCommandHere("upgrade");
  });
  process.chdir(before);
  expect(new Set(texts)).toEqual(
    new Set([`node -e "require('talos-gpu/bin/program.js')" -- upgrade`]),
  );
});

test.each([
  ["a plain folder", "plugins"],
  ["a folder with characters that a shell expands", 'it\'s "$HOME" `id` 100% $(id)!'],
])("a shell runs the command with its verb from %s", (_what, plugins) => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-test-"));
  try {
    const bin = path.join(home, plugins, "resource-talos-gpu-v0.1.0/bin");
    fs.mkdirSync(bin, { recursive: true });
    fs.writeFileSync(path.join(bin, "program.js"), "process.stdout.write(process.argv.at(-1))");
    const text = programCommand(
      "upgrade",
      places({ packageRoot: path.dirname(bin), pulumiHome: home, resolve: () => undefined }),
    );
    const run = (env: NodeJS.ProcessEnv): string =>
      execFileSync("/bin/sh", ["-c", text], { env: { ...process.env, ...env }, encoding: "utf8" });
    expect(run({ PULUMI_HOME: home })).toBe("upgrade");
  } finally {
    fs.rmSync(home, { recursive: true });
  }
});
