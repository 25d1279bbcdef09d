import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { repository } from "../../stacks/stack-file";

// The script that npm runs after an installation. Pulumi installs a package that was added by its git address with
// npm in components/ (pulumi/pulumi v3.259.0, pkg/workspace/plugin.go, installDependenciesForPluginSpec). npm then
// installs only this workspace, without the tools of the build.

const root = fs.mkdtempSync(path.join(os.tmpdir(), "prepare-"));
afterAll(() => fs.rmSync(root, { recursive: true }));

/** Copies the script into a repository, with the files that it needs. */
function copyScript(folder: string): void {
  for (const file of ["generate/prepare.js", "generate/package/build-if-stale.js"]) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.copyFileSync(path.join(repository, file), path.join(folder, file));
  }
}

/**
 * Runs the script in a repository with these tools and an npm that only writes down its arguments; returns these
 * calls.
 */
function npmCallsOfPrepare(tools: string[], environment: NodeJS.ProcessEnv = {}): string[] {
  fs.rmSync(path.join(root, "node_modules"), { recursive: true, force: true });
  for (const tool of tools)
    fs.mkdirSync(path.join(root, "node_modules", tool), { recursive: true });
  copyScript(root);
  fs.mkdirSync(path.join(root, "bin"), { recursive: true });
  const npm =
    '#!/bin/sh\necho "$* omit=$npm_config_omit workspace=$npm_config_workspace registry=$npm_config_registry"\n';
  fs.writeFileSync(path.join(root, "bin/npm"), npm, { mode: 0o755 });
  const PATH = [path.join(root, "bin"), process.env["PATH"]].join(path.delimiter);
  const { stdout, status } = spawnSync(process.execPath, [path.join(root, "generate/prepare.js")], {
    cwd: path.join(root, "generate"),
    encoding: "utf8",
    env: { ...process.env, npm_command: "ci", npm_config_registry: "", ...environment, PATH },
  });
  expect(status).toBe(0);
  return stdout.split("\n").filter((line) => line !== "");
}

test("if all build tools are installed, prepare only builds", () => {
  expect(npmCallsOfPrepare(["typescript", "esbuild", "tsx"])).toEqual([
    expect.stringMatching(/^run build /),
  ]);
});

test.each([[[]], [["typescript"]], [["typescript", "esbuild"]]])(
  "if only the build tools %j are installed, prepare first installs all, regardless of the outer npm's options",
  (tools) => {
    const outerOptions = {
      npm_config_omit: "dev",
      npm_config_workspace: "components",
      npm_config_registry: "http://mirror",
    };
    expect(npmCallsOfPrepare(tools, outerOptions)).toEqual([
      expect.stringMatching(
        /^install --include=dev --ignore-scripts .* omit= workspace= registry=http:\/\/mirror$/,
      ),
      "run build omit= workspace= registry=http://mirror",
    ]);
  },
);

test("prepare builds in a folder whose name contains a colon", () => {
  const folder = path.join(root, "example.org:8443_components");
  const write = (file: string, text: string, mode = 0o644): void => {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), text, { mode });
  };
  const workspaceManifest = (name: string): string =>
    JSON.stringify({ name, version: "1.0.0", scripts: { build: "typescript" } });
  const build = "npm run build --workspace components --workspace sdk/talos";
  write(
    "package.json",
    JSON.stringify({ workspaces: ["components", "sdk/talos"], scripts: { build } }),
  );
  write("components/package.json", workspaceManifest("components"));
  write("sdk/talos/package.json", workspaceManifest("talos"));
  for (const tool of ["typescript", "esbuild", "tsx"]) write(`node_modules/${tool}/index.js`, "");
  write("node_modules/.bin/typescript", '#!/bin/sh\necho "built $(basename "$PWD")"\n', 0o755);
  copyScript(folder);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["generate/prepare.js"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(stdout.split("\n").filter((line) => line.startsWith("built "))).toEqual([
    "built components",
    "built talos",
  ]);
});

test("prepare builds only a stale package in npm install, and always in npm ci", () => {
  const write = (file: string, minutes: number): void => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    fs.writeFileSync(path.join(root, file), "");
    const time = new Date(Date.now() - minutes * 60_000);
    fs.utimesSync(path.join(root, file), time, time);
  };
  const tools = ["typescript", "esbuild", "tsx"];
  for (const file of ["components/index.ts", "cli/main.ts", "sdk/talos/index.ts"]) write(file, 2);
  write("generate/schema/main.ts", 2);
  npmCallsOfPrepare(tools); // writes the script's own files there, which are sources too
  for (const file of ["sdk/schema.json", "components/bin/program.js"]) write(file, -1);
  const build = [expect.stringMatching(/^run build /)];
  expect(npmCallsOfPrepare(tools, { npm_command: "install" })).toEqual([]);
  expect(npmCallsOfPrepare(tools, { npm_command: "ci" })).toEqual(build);
  write("components/index.ts", -2);
  expect(npmCallsOfPrepare(tools, { npm_command: "install" })).toEqual(build);
});

test("package.json declares generate/prepare.js as its script prepare", () => {
  const { scripts } = JSON.parse(
    fs.readFileSync(path.join(repository, "package.json"), "utf8"),
  ) as {
    scripts: Record<string, string>;
  };
  expect(scripts["prepare"]).toBe("node generate/prepare.js");
});
