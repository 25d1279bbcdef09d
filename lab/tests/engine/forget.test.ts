import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { CommandProvider } from "../../providers/command";
import { serveProvider } from "../../providers/serve";
import { builtTool } from "../built-tool";
import { bareEnvironment } from "./bare-environment";

// docs/troubleshooting.md describes how a stack forgets a machine that will not return. This test follows it with the
// real CLI.

const pulumi = builtTool("pulumi");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "forget-test-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const provider = { urn: "urn:pulumi:a::p::pulumi:providers:command::default", id: "1" };
const machineUrn = "urn:pulumi:a::p::talos-gpu:index:GpuMachine::gpu-1";
const configurationUrn =
  "urn:pulumi:a::p::talos-gpu:index:GpuMachine$command:local:Command::gpu-1-configuration";
const command = { create: "true", delete: "echo 'machines.gpu-1: no answer' >&2; exit 1" };
const resources = [
  { urn: "urn:pulumi:a::p::pulumi:pulumi:Stack::p-a", custom: false, type: "pulumi:pulumi:Stack" },
  { ...provider, custom: true, type: "pulumi:providers:command" },
  { urn: machineUrn, custom: false, type: "talos-gpu:index:GpuMachine" },
  {
    urn: configurationUrn,
    custom: true,
    id: "2",
    type: "command:local:Command",
    parent: machineUrn,
    provider: `${provider.urn}::${provider.id}`,
    inputs: command,
    outputs: { ...command, stdout: "", stderr: "" },
  },
];

(pulumi === undefined ? test.skip : test)(
  "the commands in docs/troubleshooting.md remove from the stack a machine whose destroy fails",
  async () => {
    const server = await serveProvider(new CommandProvider({ directory: folder }));
    const env = bareEnvironment(folder, { PULUMI_DEBUG_PROVIDERS: `command:${server.port}` });
    const runPulumi = (...args: string[]): Promise<string> =>
      promisify(execFile)(pulumi!, args, { cwd: folder, env }).then(({ stdout }) => stdout);
    try {
      fs.writeFileSync(path.join(folder, "Pulumi.yaml"), "name: p\nruntime: yaml\n");
      await runPulumi("stack", "init", "a");
      const state = JSON.parse(await runPulumi("stack", "export")) as { deployment: object };
      const file = path.join(folder, "state.json");
      fs.writeFileSync(
        file,
        JSON.stringify({ ...state, deployment: { ...state.deployment, resources } }),
      );
      await runPulumi("stack", "import", "--file", file);
      await expect(runPulumi("destroy", "--yes", "--skip-preview")).rejects.toMatchObject({
        stdout: expect.stringContaining("machines.gpu-1: no answer"),
      });
      expect(await runPulumi("stack", "--show-urns")).toContain(configurationUrn);
      await runPulumi("state", "delete", configurationUrn, "--yes");
      await runPulumi("destroy", "--yes", "--skip-preview");
      expect(await runPulumi("stack", "--show-urns")).not.toContain("gpu-1");
    } finally {
      await server.close();
    }
  },
  120_000,
);
