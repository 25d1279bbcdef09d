import * as fs from "node:fs";
import type { ConstructResult } from "@pulumi/pulumi/provider";
import type { Output } from "@pulumi/pulumi";
import { schemaFile } from "../../generate/schema/main";
import { componentsBy } from "../../components/plugin/provider";
import { record } from "../support/recorder";

// The plugin that serves the package to programs in YAML, Python and Go. tests/e2e/pulumi starts it by the CLI.

const text = fs.readFileSync(schemaFile, "utf8");
const { resources, version } = JSON.parse(text) as {
  resources: Record<string, { properties: object }>;
  version: string;
};
const provider = componentsBy(text);
const pod = {
  runtimeClassName: "nvidia",
  gpuResourceName: "nvidia.com/gpu",
  image: "nvidia/cuda:12.6.3-base-ubuntu24.04",
  command: ["nvidia-smi"],
};

test("the plugin serves the published schema unchanged, with defaults and examples", async () => {
  expect(provider).toMatchObject({ schema: text, version });
  expect(text).toContain("Default: ");
  expect(text).toContain("Example: ");
});

test("the plugin constructs a component by its type, with the outputs of the schema", async () => {
  const type = "talos-gpu:index:GpuPod";
  let made: ConstructResult | undefined;
  const { resources: registered } = await record(async () => {
    made = await provider.construct!("job", type, pod, {});
  });
  const component = registered.find((each) => each.type === type)!;
  expect(Object.keys(made!.state)).toEqual(Object.keys(resources[type]!.properties));
  const promised = (
    made!.urn as unknown as Output<string> & { promise(): Promise<string> }
  ).promise();
  expect(await promised).toBe(component.urn);
});

test.each(Object.keys(resources))("the plugin has a class for %s", async (type) => {
  // The component may complain about missing arguments, but it must exist.
  const said = await record(async () => void (await provider.construct!("x", type, {}, {})));
  expect(said.error?.message ?? "").not.toContain("no such component");
});

test.each(["talos-gpu:index:GpuRack", "other:index:GpuPod", "GpuPod"])(
  "the plugin refuses the unknown component %s, and the error says what to do",
  async (type) => {
    await expect(provider.construct!("x", type, {}, {})).rejects.toThrow(
      new RegExp(`^${type}: talos-gpu ${version} has no such component .*generate the SDK again`),
    );
  },
);
