import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse } from "yaml";
import { repository } from "../../stacks/stack-file";
import { packWorkspace, type Registry, serveRegistry } from "../support/packages/registry";

// A user's own folder outside the clone: npm installs the packages that would be published from a registry on this
// computer, and the user runs their commands.

const template = path.join(repository, "templates/talos-gpu-typescript");
const talconfig = path.join(repository, "tests/fixtures/talhelper/talconfig.yaml");
const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-own-")));
let tarball: string;
let registry: Registry;

beforeAll(async () => {
  tarball = packWorkspace("components", home);
  registry = await serveRegistry([tarball, packWorkspace("sdk/talos", home)]);
});
afterAll(() => {
  registry.close();
  fs.rmSync(home, { recursive: true });
});

/** Runs a command in a folder, with npm settings and a Pulumi home that only this test has. */
function run(
  folder: string,
  line: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<{ status: number | null; output: string }> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_.*|NODE_PATH|PULUMI_.*|KUBECONFIG|TALOSCONFIG)$/i.test(name),
  );
  const env: NodeJS.ProcessEnv = {
    ...Object.fromEntries(inherited),
    npm_config_registry: registry.url,
    npm_config_cache: path.join(home, "npm"),
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    NO_COLOR: "1",
    HOME: home,
    PULUMI_HOME: path.join(home, ".pulumi"),
    ...environment,
  };
  return new Promise((resolve) => {
    let output = "";
    const child = spawn("sh", ["-c", line], {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("close", (status) => resolve({ status, output }));
  });
}

const manifestOf = (folder: string): { version: string; dependencies: object } =>
  JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")) as {
    version: string;
    dependencies: object;
  };

/** Creates an empty folder. */
function emptyFolder(name: string): string {
  const folder = path.join(home, name);
  fs.mkdirSync(folder);
  return folder;
}

/**
 * Copies the template as `pulumi new` does, with a project's name. tests/e2e/pulumi tests this with Pulumi itself.
 */
function copyTemplate(name: string): string {
  const folder = path.join(home, name);
  fs.cpSync(template, folder, { recursive: true });
  for (const file of ["Pulumi.yaml", "package.json"]) {
    const text = fs.readFileSync(path.join(folder, file), "utf8");
    fs.writeFileSync(
      path.join(folder, file),
      text.replaceAll("${PROJECT}", name).replaceAll("${DESCRIPTION}", "Mine"),
    );
  }
  return folder;
}

const cardOption = "--gpu 'velaryon=RTX 2070 SUPER'";

const pythonExample = path.join(repository, "examples/python");
const pythonFiles = fs
  .readdirSync(pythonExample)
  .map((name): [string, string] => [name, fs.readFileSync(path.join(pythonExample, name), "utf8")]);

test.each([
  ["an empty folder", [], ""],
  // If there is a Pulumi.yaml, the next step is a command of Pulumi.
  [
    "the folder of a Python program",
    pythonFiles,
    "; then pulumi stack init mine && pulumi preview -s mine",
  ],
])(
  "three commands in %s install the tarball, import a talconfig and plan the stack",
  async (name, files, nextCommands) => {
    const folder = emptyFolder(name.replaceAll(" ", "-"));
    for (const [file, text] of files) fs.writeFileSync(path.join(folder, file), text);
    const seconds: number[] = [];
    const runTimed = async (line: string): ReturnType<typeof run> => {
      const begin = performance.now();
      const result = await run(folder, line);
      seconds.push((performance.now() - begin) / 1000);
      return result;
    };
    expect(await runTimed(`npm install ${tarball}`)).toMatchObject({ status: 0 });
    const importResult = await runTimed(
      `npx talos-gpu import ${talconfig} ${cardOption} --stack mine`,
    );
    expect(importResult).toMatchObject({
      status: 0,
      output: expect.stringContaining(
        `\nWrote Pulumi.mine.yaml. Next, see its effect: npx talos-gpu plan --stack mine${nextCommands}\n`,
      ) as unknown,
    });
    const planResult = await runTimed("npx talos-gpu plan --stack mine");
    expect(planResult).toMatchObject({
      status: 0,
      output: expect.stringContaining("## Plan of mine") as unknown,
    });
    const times = seconds.map((time) => time.toFixed(1)).join(" + ");
    process.stdout.write(`Three commands in ${name}: ${times} s\n`); // only for information, not a limit
  },
);

describe("the template", () => {
  let folder: string;
  beforeAll(async () => {
    folder = copyTemplate("gpus");
    expect(await run(folder, "npm install")).toMatchObject({ status: 0 });
  });
  const stackEnvironment = { PULUMI_STACK: "me/gpus/dev" };

  test("has a program of three lines, and this release as its only dependency", () => {
    const { dependencies } = manifestOf(template);
    expect(dependencies).toEqual({
      "talos-gpu": `^${manifestOf(path.join(repository, "components")).version}`,
    });
    expect(
      fs.readFileSync(path.join(template, "index.ts"), "utf8").trim().split("\n"),
    ).toHaveLength(3);
  });

  test("asks only for talosVersion, and has an example stack that can be planned", async () => {
    const { template: templateSettings } = parse(
      fs.readFileSync(path.join(template, "Pulumi.yaml"), "utf8"),
    ) as {
      template: { config: Record<string, { default: string }>; quickstart: string };
    };
    expect(Object.keys(templateSettings.config)).toEqual(["talos-gpu:talosVersion"]);
    const { status, output } = await run(folder, "npx talos-gpu plan --stack example");
    expect(output).toContain("## Plan of example");
    expect(status).toBe(0);
    expect(output).toContain(templateSettings.config["talos-gpu:talosVersion"]!.default);
    // Every command in the quickstart is a verb.
    for (const [, verb] of templateSettings.quickstart.matchAll(/npx talos-gpu (\S+)/g))
      expect(await run(folder, `npx talos-gpu ${verb} --help`)).toMatchObject({ status: 0 });
  });

  test("has an example stack that names an existing schema", () => {
    const [, schema] = /\$schema=(\S+)/.exec(
      fs.readFileSync(path.join(folder, "Pulumi.example.yaml"), "utf8"),
    )!;
    expect(fs.existsSync(path.join(folder, schema!))).toBe(true);
  });

  test("lets plan refuse the new stack with the command that fills it in, and succeed after import", async () => {
    fs.writeFileSync(
      path.join(folder, "Pulumi.dev.yaml"),
      "encryptionsalt: v1:abc\nconfig:\n  talos-gpu:talosVersion: v1.13.9\n",
    );
    expect(await run(folder, "npx talos-gpu plan", stackEnvironment)).toMatchObject({
      status: 1,
      output: expect.stringContaining(
        "Pulumi.dev.yaml has no machines yet: npx talos-gpu discover",
      ) as unknown,
    });
    const importResult = await run(
      folder,
      `npx talos-gpu import ${talconfig} ${cardOption}`,
      stackEnvironment,
    );
    expect(importResult).toMatchObject({
      status: 0,
      output: expect.stringContaining("npx talos-gpu plan; then pulumi preview") as unknown,
    });
    expect(await run(folder, "npx talos-gpu plan", stackEnvironment)).toMatchObject({ status: 0 });
    expect(fs.readFileSync(path.join(folder, "Pulumi.dev.yaml"), "utf8")).toContain(
      "encryptionsalt: v1:abc",
    );
    expect(
      await run(folder, `npx talos-gpu check ${talconfig}`, stackEnvironment),
    ).not.toMatchObject({
      status: 2,
    });
  });

  test.each(["doctor", "bug-report"])(
    "lets %s use the stack that PULUMI_STACK names, and print that",
    async (verb) => {
      const server =
        "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: http://127.0.0.1:1}}]\n";
      const rest =
        "users: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n";
      fs.writeFileSync(path.join(folder, "kubeconfig"), server + rest);
      const line = `npx talos-gpu ${verb} --kubeconfig kubeconfig --within 2`;
      const { output } = await run(folder, line, { PULUMI_STACK: "example" });
      expect(output).toContain("Compared with Pulumi.example.yaml, because PULUMI_STACK names it");
    },
  );

  test("lets reboot refuse a name that is no machine of the selected stack", async () => {
    const { status, output } = await run(folder, "npx talos-gpu reboot missing", {
      PULUMI_STACK: "example",
    });
    expect(output).toContain("missing: is not a machine of the stack; name one of gpu-1");
    expect(status).toBe(2);
  });

  test("has a workflow with the action plan and its inputs, and the repository's preset of Renovate", () => {
    const workflow = parse(
      fs.readFileSync(path.join(template, ".github/workflows/plan.yml"), "utf8"),
    ) as {
      permissions: object;
      jobs: { plan: { steps: { uses?: string; with?: object }[] } };
    };
    const [checkout, plan] = workflow.jobs.plan.steps;
    expect(workflow.permissions).toEqual({ contents: "read", "pull-requests": "write" });
    expect(checkout).toMatchObject({ with: { "fetch-depth": 0, "persist-credentials": false } });
    expect(plan!.uses).toMatch(/^OWNER\/talos-gpu\/actions\/plan@v\d/);
    const { inputs } = parse(
      fs.readFileSync(path.join(repository, "actions/plan/action.yml"), "utf8"),
    ) as {
      inputs: object;
    };
    expect(Object.keys(inputs)).toEqual(expect.arrayContaining(Object.keys(plan!.with!)));
    const { extends: presets } = JSON.parse(
      fs.readFileSync(path.join(template, "renovate.json"), "utf8"),
    ) as {
      extends: string[];
    };
    expect(presets).toContain("github>OWNER/talos-gpu//renovate/stack");
    expect(fs.existsSync(path.join(repository, "renovate/stack.json"))).toBe(true);
  });

  // A strictly checked program of each module kind. Node.js loads its packages.
  const importLine = 'import { GpuCluster, type GpuClusterArgs } from "talos-gpu";\n';
  const useOfClass =
    'const make = (args: GpuClusterArgs): GpuCluster => new GpuCluster("a", args);\nvoid make;\n';
  const commonJsProgram = fs.readFileSync(path.join(template, "index.ts"), "utf8");
  const moduleProgram = commonJsProgram.replace("export = stack", "export default stack");
  test.each([
    [
      "CommonJS, nodenext",
      "commonjs",
      commonJsProgram,
      { module: "nodenext", moduleResolution: "nodenext" },
    ],
    [
      "ES module, nodenext",
      "module",
      moduleProgram,
      { module: "nodenext", moduleResolution: "nodenext" },
    ],
    [
      "CommonJS, bundler",
      "commonjs",
      moduleProgram,
      { module: "commonjs", moduleResolution: "bundler" },
    ],
    [
      "ES module, bundler",
      "module",
      moduleProgram,
      { module: "esnext", moduleResolution: "bundler" },
    ],
  ])("has a program that compiles and loads as %s", async (name, type, text, options) => {
    const programFolder = path.join(folder, name.replaceAll(/\W+/g, "-"));
    fs.mkdirSync(programFolder);
    fs.writeFileSync(path.join(programFolder, "package.json"), JSON.stringify({ type }));
    fs.writeFileSync(
      path.join(programFolder, "index.ts"),
      text.replace("\n", `\n${importLine}${useOfClass}`),
    );
    const strict = {
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
    };
    const compilerOptions = {
      target: "ES2022",
      types: [],
      rootDir: ".",
      outDir: "bin",
      ...strict,
      ...options,
    };
    fs.writeFileSync(
      path.join(programFolder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["index.ts"] }),
    );
    const tsc = path.join(repository, "node_modules/typescript/bin/tsc");
    expect(await run(programFolder, `node ${tsc} -p .`)).toEqual({ status: 0, output: "" });
    const printType =
      "import('./bin/index.js').then((all) => console.log(typeof (all.default.default ?? all.default)))";
    expect(await run(programFolder, `node -e "${printType}"`)).toEqual({
      status: 0,
      output: "function\n",
    });
  });
});
