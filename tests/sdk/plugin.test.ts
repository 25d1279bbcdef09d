import * as fs from "node:fs";
import type { ConstructResult } from "@pulumi/pulumi/provider";
import type { Output } from "@pulumi/pulumi";
import { schemaFile } from "../../generate/schema/main";
import { componentsBy } from "../../components/plugin/provider";
import { record } from "../support/recorder";

// The plugin that serves the package to programs in YAML, Python and Go. tests/e2e/pulumi starts it by the CLI.

const text = fs.readFileSync(schemaFile, "utf8");
const { resources: schemaResources, version } = JSON.parse(text) as {
  resources: Record<string, { properties: object }>;
  version: string;
};
const provider = componentsBy(text);
const podArgs = {
  runtimeClassName: "nvidia",
  gpuResourceName: "nvidia.com/gpu",
  image: "nvidia/cuda:12.6.3-base-ubuntu24.04",
  command: ["nvidia-smi"],
};

test("the plugin serves the published schema unchanged, with defaults and examples", () => {
  expect(provider).toMatchObject({ schema: text, version });
  expect(text).toContain("Default: ");
  expect(text).toContain("Example: ");
});

test("the plugin constructs a component by its type, with the outputs of the schema", async () => {
  const type = "talos-gpu:index:GpuPod";
  let constructed: ConstructResult | undefined;
  const { resources } = await record(async () => {
    constructed = await provider.construct!("job", type, podArgs, {});
  });
  const component = resources.find((resource) => resource.type === type)!;
  expect(Object.keys(constructed!.state)).toEqual(Object.keys(schemaResources[type]!.properties));
  const urn = (
    constructed!.urn as unknown as Output<string> & { promise(): Promise<string> }
  ).promise();
  expect(await urn).toBe(component.urn);
});

test.each(Object.keys(schemaResources))(
  "the plugin passes the arguments to the class of %s, which refuses an empty mapping",
  async (type) => {
    const run = await record(async () => void (await provider.construct!("x", type, {}, {})));
    const className = type.split(":").at(-1)!;
    expect(run.error?.message).toMatch(
      className === "GpuCluster"
        ? /^the stack has \d+ mistakes/
        : new RegExp(`^${className} "x": its arguments have .*mistake`),
    );
  },
);

test.each(["talos-gpu:index:GpuRack", "other:index:GpuPod", "GpuPod"])(
  "the plugin refuses the unknown component %s, and the error says what to do",
  async (type) => {
    await expect(provider.construct!("x", type, {}, {})).rejects.toThrow(
      new RegExp(`^${type}: talos-gpu ${version} has no such component .*generate the SDK again`),
    );
  },
);
