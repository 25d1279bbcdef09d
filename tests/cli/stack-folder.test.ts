import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { plan } from "../../cli/plan/verb";
import { selectedStack } from "../../cli/selected-stack";
import { placesOf, stackFileOf } from "../../cli/stack";
import { stackFolderOf } from "../../cli/stack-folder";
import { stacksDir } from "../../stacks/stack-file";
import { runVerb } from "./support";

const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "stack-folder-")));
const previousFolder = process.cwd();
afterAll(() => {
  process.chdir(previousFolder);
  fs.rmSync(home, { recursive: true });
});

/** A project with a file of this name and content. Returns a folder below it, as the user's current folder. */
function project(name: string, file: string, text: string): string {
  const subfolder = path.join(home, name, "talos/machines");
  fs.mkdirSync(subfolder, { recursive: true });
  fs.writeFileSync(path.join(home, name, file), text);
  return subfolder;
}

test.each([
  ["next to the project's file", "beside", "Pulumi.yaml", "name: gpus\nruntime: nodejs\n", "../.."],
  [
    "in the folder of stackConfigDir",
    "named",
    "Pulumi.yaml",
    "name: gpus\nstackConfigDir: clusters\n",
    "../../clusters",
  ],
  [
    "in the folder of the older field `config`",
    "older",
    "Pulumi.yml",
    "name: gpus\nconfig: clusters\n",
    "../../clusters",
  ],
  ["next to a project file in JSON", "json", "Pulumi.json", '{ "name": "gpus" }', "../.."],
])("stack files are looked for %s", (_, name, file, text, expected) => {
  expect(stackFolderOf(project(name, file, text))).toBe(expected);
});

test("a mapping in the project's field `config` is no folder of stack files", () => {
  expect(stackFolderOf(project("mapping", "Pulumi.yaml", "name: gpus\nconfig:\n  a: b\n"))).toBe(
    "../..",
  );
});

test("a project file that is not YAML has no folder of stack files", () => {
  expect(stackFolderOf(project("broken", "Pulumi.yaml", "name: [gpus\n"))).toBeUndefined();
});

test("in a subfolder of the project, Pulumi's stack file takes precedence over the subfolder's", () => {
  const subfolder = project("found", "Pulumi.yaml", "name: gpus\nstackConfigDir: clusters\n");
  process.chdir(subfolder);
  fs.writeFileSync("Pulumi.dev.yaml", "config: {}\n");
  expect(stackFileOf("dev")).toBe("Pulumi.dev.yaml");
  fs.mkdirSync(path.join(home, "found/clusters"));
  fs.writeFileSync(path.join(home, "found/clusters/Pulumi.dev.yaml"), "config: {}\n");
  expect(stackFileOf("dev")).toBe("../../clusters/Pulumi.dev.yaml");
  expect(stackFileOf("me/gpus/dev")).toBe("../../clusters/Pulumi.dev.yaml");
  expect(placesOf("dev")).toHaveLength(3);
});

test("a stack without a file is reported with the searched paths, the existing stacks, and the command that writes one", () => {
  const subfolder = project("none", "Pulumi.yaml", "name: gpus\nstackConfigDir: clusters\n");
  process.chdir(subfolder);
  fs.mkdirSync(path.join(home, "none/clusters"));
  fs.writeFileSync(path.join(home, "none/clusters/Pulumi.prod.yaml"), "config: {}\n");
  expect(() => stackFileOf("dev")).toThrow(
    /^--stack: there is no stack dev \(searched: \.\.\/\.\.\/clusters\/Pulumi\.dev\.yaml, .*\); name prod, or .* npx talos-gpu discover --stack dev$/,
  );
});

describe("the stack selected in Pulumi", () => {
  const pulumi = path.join(home, "pulumi");
  const environment = { PULUMI_HOME: pulumi };
  /** Writes Pulumi's settings for the project in a folder. The file's name has the SHA-1 of the project file's path. */
  const writeSettings = (folder: string, settings: object): void => {
    const hash = createHash("sha1").update(path.join(folder, "Pulumi.yaml")).digest("hex");
    const workspaces = path.join(pulumi, "workspaces");
    fs.mkdirSync(workspaces, { recursive: true });
    fs.writeFileSync(
      path.join(workspaces, `gpus-${hash}-workspace.json`),
      JSON.stringify(settings),
    );
  };

  /** Makes a project with these settings, and changes to a folder below it. */
  const enterProject = (name: string, settings: object): void => {
    const subfolder = project(name, "Pulumi.yaml", "name: gpus\n");
    writeSettings(path.join(home, name), settings);
    process.chdir(subfolder);
  };

  test.each([
    ["in the format of older releases", { stack: "organization/gpus/dev" }, {}],
    ["for the only backend", { stacks: { "file://~": "organization/gpus/dev" } }, {}],
    [
      "for the backend in PULUMI_BACKEND_URL",
      { stacks: { a: "x", b: "dev" } },
      { PULUMI_BACKEND_URL: "b" },
    ],
    ["for the backend of the login", { stacks: { a: "x", c: "dev" } }, {}],
    ["from PULUMI_STACK", { stack: "x" }, { PULUMI_STACK: "me/gpus/dev" }],
  ])("is read %s", (_, settings, variables) => {
    enterProject("selected", settings);
    fs.writeFileSync(path.join(pulumi, "credentials.json"), JSON.stringify({ current: "c" }));
    expect(selectedStack({ ...environment, ...variables })?.name).toBe("dev");
  });

  test("is found by the shell's path (PWD) of a linked folder, as Pulumi finds it", () => {
    enterProject("target", {});
    const linked = path.join(home, "linked");
    fs.symlinkSync(path.join(home, "target"), linked);
    writeSettings(linked, { stack: "dev" });
    process.chdir(linked);
    expect(selectedStack(environment)).toBeUndefined();
    expect(selectedStack({ ...environment, PWD: linked })?.name).toBe("dev");
    expect(selectedStack({ ...environment, PWD: "/" })).toBeUndefined();
  });

  test("is the default of a verb, which otherwise requires --stack", async () => {
    enterProject("planned", { stack: "dev" });
    const stackText = fs.readFileSync(path.join(stacksDir, "Pulumi.velaryon.yaml"));
    fs.writeFileSync(path.join(home, "planned/Pulumi.dev.yaml"), stackText);
    const run = (PULUMI_HOME: string) => runVerb("plan", plan, [], { PULUMI_HOME });
    expect((await run(pulumi)).stdout).toContain("## Plan of dev");
    await expect(run("/nowhere")).rejects.toThrow(
      /^--stack: is missing, and Pulumi has no stack selected here, so/,
    );
  });

  test("is unknown if Pulumi's settings of the project are not JSON, or if neither PULUMI_HOME nor HOME is set", () => {
    enterProject("broken-settings", {});
    for (const file of fs.readdirSync(path.join(pulumi, "workspaces")))
      fs.writeFileSync(path.join(pulumi, "workspaces", file), "{");
    expect(selectedStack(environment)).toBeUndefined();
    expect(selectedStack({})).toBeUndefined();
  });
});
