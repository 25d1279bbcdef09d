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

test("a package that the working directory finds is run by its name, wherever both are", () => {
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

test("an installed plugin is found below Pulumi's folder at run time", () => {
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

test("a package that the working directory does not find is run by a path relative to it", () => {
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

test("another copy that the working directory finds is not taken for this one", () => {
  expect(
    programCommand("upgrade", places({ resolve: () => "/src/app/node_modules/talos-gpu" })),
  ).toContain("'../components/bin/program.js'");
});

test("in this repository the text is the same from every folder of a program", () => {
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
  ["a folder whose name a shell would read", 'it\'s "$HOME" `id` 100% $(id)!'],
])("the text runs, from a shell, in %s, and hands over the verb", (_what, plugins) => {
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
