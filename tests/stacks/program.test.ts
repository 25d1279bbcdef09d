import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import program from "../../stacks";
import { find, findAll, isSecret } from "../support/graph";
import { record, type Run, type RunOptions } from "../support/recorder";
import { stackConfig, stacks } from "../support/stacks";
import { kubeconfig, machineConfiguration, machineOutputs, machineSecrets, talosconfig } from "../support/talos";

const secrets = {
  "talos-gpu:talosconfig": talosconfig,
  "talos-gpu:machineSecrets": machineSecrets,
  "talos-gpu:kubeconfig": kubeconfig,
  "talos-gpu:omniEndpoint": "https://omni.example",
  "talos-gpu:omniServiceAccountKey": "omni-service-account-key",
};

async function run(
  stack: string,
  changes: Record<string, string> = {},
  options: RunOptions = {},
): Promise<Run & { outputs?: object }> {
  let outputs: object | undefined;
  const ran = await record(async () => void (outputs = await program()), {
    stack,
    config: { ...stackConfig(stack), ...secrets, ...changes },
    secretKeys: Object.keys(secrets),
    outputs: machineOutputs as NonNullable<RunOptions["outputs"]>,
    ids: ({ type, inputs }) =>
      type.endsWith(":Schematic")
        ? createHash("sha256")
            .update(inputs.schematic as string)
            .digest("hex")
        : undefined,
    call: machineConfiguration,
    ...options,
  });
  return { ...ran, ...(outputs === undefined ? {} : { outputs }) };
}

const cluster = "talos-gpu:index:GpuCluster";
const provider = "pulumi:providers:kubernetes";

describe.each(stacks)("%s", (stack) => {
  test("comes up as a cluster of the stack's name, by the stack's own kubeconfig", async () => {
    const ran = await run(stack);
    expect(ran.error).toBeUndefined();
    expect(find(ran, cluster).name).toBe(stack);
    expect(Object.keys(ran.outputs ?? {}).sort()).toEqual([
      "endpoints",
      "gpuReady",
      "gpuResourceName",
      "machines",
      "runtimeClassName",
    ]);
    expect(isSecret(find(ran, provider).inputs.kubeconfig)).toBe(true);
    const ours = ran.resources.filter((resource) => resource.type.startsWith("kubernetes:"));
    for (const resource of ours)
      expect([resource.name, resource.provider]).toEqual([resource.name, expect.stringContaining(provider)]);
  });

  test("runs again in the same process, to the same resources", async () => {
    const urns = (ran: Run): string[] => ran.resources.map((resource) => resource.urn).sort();
    expect(urns(await run(stack))).toEqual(urns(await run(stack)));
  });

  test("a preview registers what an update does", async () => {
    const urns = (ran: Run): string[] => ran.resources.map((resource) => resource.urn).sort();
    const preview = await run(stack, {}, { preview: true });
    expect(preview.error).toBeUndefined();
    expect(urns(preview)).toEqual(urns(await run(stack)));
  });
});

test("a misspelt key is refused by name, without a stack trace and before any provider", async () => {
  const ran = await run("rtx5070ti", { "talos-gpu:gpuOperater": '{"version":"v25.10.1"}' });
  expect(pulumi.RunError.isInstance(ran.error)).toBe(true);
  expect(ran.error?.message).toMatch(/gpuOperater: .*did you mean "gpuOperator"/);
  expect(findAll(ran, provider)).toEqual([]);
});

test("another Image Factory is the Talos provider's too", async () => {
  const ran = await run("aarhus-h100", { "talos-gpu:factoryUrl": "https://factory.example" });
  expect(find(ran, "pulumi:providers:talos").inputs.imageFactoryUrl).toBe("https://factory.example");
  expect(find(ran, "talos:imageFactory/schematic:Schematic").provider).toContain("pulumi:providers:talos");
});
