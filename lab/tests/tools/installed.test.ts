import * as path from "node:path";
import { describeInstalled, installedTools } from "../../tools/installed";
import { Sandbox } from "./fixture";

describe("programs on PATH", () => {
  const sandbox = new Sandbox();
  const env = { PATH: [path.join(sandbox.folder, "bin"), process.env.PATH].join(path.delimiter) };
  afterAll(() => sandbox.remove());

  test("are used if they are new enough, and listed in one line", async () => {
    sandbox.writeScript("bin/pulumi", '[ "$*" = version ] && echo v3.260.1');
    sandbox.writeScript(
      "bin/talosctl",
      '[ "$*" = "version --client --short" ] && echo "Client v1.13.4"',
    );
    sandbox.writeScript(
      "bin/helm",
      '[ "$*" = "version --template {{.Version}}" ] && printf v3.19.2',
    );
    const installed = await installedTools(["controlplane", "pulumi", "talosctl", "helm"], env);
    expect(installed).toEqual([
      { tool: "pulumi", path: path.join(sandbox.folder, "bin/pulumi"), version: "3.260.1" },
      { tool: "talosctl", path: path.join(sandbox.folder, "bin/talosctl"), version: "1.13.4" },
      { tool: "helm", path: path.join(sandbox.folder, "bin/helm"), version: "3.19.2" },
    ]);
    expect(describeInstalled(installed)).toBe(
      "from PATH: pulumi 3.260.1, talosctl 1.13.4, helm 3.19.2 (TALOS_GPU_LAB_TOOLS=own ignores PATH)",
    );
  });

  test.each([
    ["too old", "echo v3.100.0"],
    ["of another major release", "echo v4.0.0"],
    ["without a version", "echo something"],
    ["that fails", "exit 1"],
  ])("a Pulumi %s is not used", async (_, body) => {
    sandbox.writeScript("bin/pulumi", body);
    expect(await installedTools(["pulumi"], env)).toEqual([]);
  });

  test("are not searched for with TALOS_GPU_LAB_TOOLS=own", async () => {
    sandbox.writeScript("bin/pulumi", "echo v3.260.1");
    expect(await installedTools(["pulumi"], { ...env, TALOS_GPU_LAB_TOOLS: "own" })).toEqual([]);
  });
});
