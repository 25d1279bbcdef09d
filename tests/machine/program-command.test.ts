import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import {
  programCommand,
  programCommandHere,
  type Places,
} from "../../components/machine/program-resource/command";

const createPlaces = (fields: Partial<Places> = {}): Places => ({
  packageRoot: "/src/talos-gpu/components",
  workingDirectory: "/src/talos-gpu/stacks",
  pulumiHome: "/home/me/.pulumi",
  resolve: () => "/src/talos-gpu/components",
  ...fields,
});

test("the command runs the package by its name if the working directory resolves this name", () => {
  const expectedCommand = `node -e "require('talos-gpu/bin/program.js')" -- upgrade`;
  expect(programCommand("upgrade", createPlaces())).toBe(expectedCommand);
  const installedPackage = {
    packageRoot: "/ci/42/node_modules/talos-gpu",
    workingDirectory: "/ci/42/app",
  };
  expect(
    programCommand(
      "upgrade",
      createPlaces({ ...installedPackage, resolve: () => installedPackage.packageRoot }),
    ),
  ).toBe(expectedCommand);
});

test("the command finds an installed plugin below Pulumi's folder when it runs", () => {
  const command = (home: string): string =>
    programCommand(
      "adopt",
      createPlaces({
        packageRoot: `${home}/plugins/resource-talos-gpu-v0.1.0/components`,
        pulumiHome: home,
        resolve: () => undefined,
      }),
    );
  expect(command("/home/me/.pulumi")).toBe(command("/root/.pulumi"));
  expect(command("/root/.pulumi")).toContain(
    "'plugins/resource-talos-gpu-v0.1.0/components/bin/program.js'",
  );
});

test("the command runs the package by a relative path if the working directory does not resolve its name", () => {
  expect(programCommand("release", createPlaces({ resolve: () => undefined }))).toBe(
    `node -e "require('../components/bin/program.js')" -- release`,
  );
  expect(
    programCommand(
      "release",
      createPlaces({ resolve: () => undefined, workingDirectory: "/src/talos-gpu" }),
    ),
  ).toContain("'./components/bin/program.js'");
});

test("the command runs the package by a relative path if the name resolves to another copy", () => {
  expect(
    programCommand("upgrade", createPlaces({ resolve: () => "/src/app/node_modules/talos-gpu" })),
  ).toContain("'../components/bin/program.js'");
});

test("in this repository, the command is the same in every working directory", () => {
  const root = path.resolve(__dirname, "../..");
  const workingDirectory = process.cwd();
  const commands = ["", "stacks", "components"].map((folder) => {
    process.chdir(path.join(root, folder));
    return programCommandHere("upgrade");
  });
  process.chdir(workingDirectory);
  expect(new Set(commands)).toEqual(
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
    const command = programCommand(
      "upgrade",
      createPlaces({ packageRoot: path.dirname(bin), pulumiHome: home, resolve: () => undefined }),
    );
    const run = (env: NodeJS.ProcessEnv): string =>
      execFileSync("/bin/sh", ["-c", command], {
        env: { ...process.env, ...env },
        encoding: "utf8",
      });
    expect(run({ PULUMI_HOME: home })).toBe("upgrade");
  } finally {
    fs.rmSync(home, { recursive: true });
  }
});
