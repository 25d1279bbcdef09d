import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { bundle } from "../../generate/package/bundles";
import { talosconfig } from "../support/talos";
import { createUpgradeTask } from "./fakes";

/** The built program, with a replacement for talosctl. */
const root = path.resolve(__dirname, "../..");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "machine-program-credentials-"));
const talosctl = path.join(folder, "talosctl");

beforeAll(async () => {
  const esbuild = path.join(root, "node_modules/.bin/esbuild");
  await bundle(folder, ["program"]);
  const esbuildArgs = [
    path.join(__dirname, "talosctl-double.ts"),
    "--platform=node",
    "--format=cjs",
    "--log-level=warning",
  ];
  execFileSync(esbuild, [...esbuildArgs, `--outfile=${talosctl}`]);
  fs.chmodSync(talosctl, 0o755);
  fs.writeFileSync(
    path.join(folder, "configuration"),
    "version: v1alpha1\nmachine:\n  type: worker\n",
  );
});
afterAll(() => fs.rmSync(folder, { recursive: true }));
beforeEach(() => fs.rmSync(path.join(folder, "calls"), { force: true }));

function run(
  verb: string,
  input: object,
  environment: NodeJS.ProcessEnv,
): { code: number | null; stdout: string; stderr: string } {
  const credentials = { TALOS_GPU_TALOSCTL: talosctl, TALOS_GPU_TALOSCONFIG: talosconfig };
  const env = { PATH: process.env["PATH"], TMPDIR: folder, ...credentials, ...environment };
  const program = path.join(folder, "program.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, verb], {
    env,
    input: JSON.stringify(input),
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

const upgradeTask = createUpgradeTask({ modules: ["nvidia"] });
const adoptTask = {
  machine: "gpu-1",
  address: "10.0.0.1",
  patches: ["machine:\n  kernel:\n    modules:\n      - name: nvidia\n"],
};

describe("unusable credentials are reported with field, reason and remedy", () => {
  const usersTalosconfig = path.join(folder, "own-talosconfig");
  const talosconfigWithoutContext = path.join(folder, "no-context");
  beforeAll(() => {
    fs.writeFileSync(usersTalosconfig, talosconfig);
    fs.writeFileSync(
      talosconfigWithoutContext,
      "context: home\ncontexts: { lab: {}, other: {} }\n",
    );
  });

  test.each<[string, string, object, NodeJS.ProcessEnv, RegExp]>([
    [
      "a KUBECONFIG whose file does not exist",
      "upgrade",
      upgradeTask,
      { KUBECONFIG: "/nowhere/config" },
      /^kubeconfig: a file listed in KUBECONFIG cannot be read \(ENOENT: there is no file \/nowhere\/config\); .+; correct KUBECONFIG/,
    ],
    [
      "a KUBECONFIG of several files that do not exist",
      "upgrade",
      upgradeTask,
      { KUBECONFIG: ["/nowhere/a", "/nowhere/b"].join(path.delimiter) },
      /^kubeconfig: a file listed in KUBECONFIG cannot be read \(ENOENT: none of these files exists: \/nowhere\/a, \/nowhere\/b\)/,
    ],
    [
      "an empty kubeconfig of the stack, despite a KUBECONFIG in the environment,",
      "upgrade",
      upgradeTask,
      { TALOS_GPU_KUBECONFIG: "", KUBECONFIG: usersTalosconfig },
      /^kubeconfig: is empty; .+another cluster; /,
    ],
    [
      "an empty talosconfig of the stack, despite a TALOSCONFIG in the environment,",
      "adopt",
      adoptTask,
      { TALOS_GPU_TALOSCONFIG: "", TALOSCONFIG: usersTalosconfig },
      /^talosconfig: is empty; /,
    ],
    [
      "an empty Omni key of the stack, despite a key in the environment,",
      "adopt",
      adoptTask,
      { TALOS_GPU_OMNI_SERVICE_ACCOUNT_KEY: "", OMNI_SERVICE_ACCOUNT_KEY: "shells" },
      /^omniServiceAccountKey: is empty; /,
    ],
    [
      "a talosconfig that lacks its current context",
      "adopt",
      adoptTask,
      { TALOS_GPU_TALOSCONFIG: undefined, TALOSCONFIG: talosconfigWithoutContext },
      /^talosconfig: the file in TALOSCONFIG \(.*no-context\): its current context "home" is not among its contexts: it has lab, other; .+; choose a context/,
    ],
    [
      "a talosconfig that does not exist",
      "adopt",
      adoptTask,
      { TALOS_GPU_TALOSCONFIG: undefined, TALOSCONFIG: "/nowhere/talosconfig" },
      /^talosconfig: the file in TALOSCONFIG \(\/nowhere\/talosconfig\) cannot be read \(ENOENT\)/,
    ],
    [
      "a missing talosconfig",
      "adopt",
      adoptTask,
      { TALOS_GPU_TALOSCONFIG: undefined, HOME: "/nowhere" },
      /^talosconfig: is missing: TALOSCONFIG is not set, and there is no ~\/\.talos\/config; /,
    ],
  ])("%s ends the program", (_, verb, input, env, message) => {
    const { code, stdout, stderr } = run(verb, input, env);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(fs.existsSync(path.join(folder, "calls"))).toBe(false);
  });

  test("a verb that does not need the kubeconfig does not read it", () => {
    const { code, stderr } = run("adopt", adoptTask, { KUBECONFIG: "/nowhere/config" });
    expect(stderr).not.toContain("KUBECONFIG");
    expect(code).toBe(0);
  });
});
