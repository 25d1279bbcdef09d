import * as fs from "node:fs";
import { renderSchema, schemaFile } from "../../cli/schema/main";

// The schema is the package's interface to other languages: a change of it must be seen in a pull request.
test("sdk/schema.json is what the components publish (npm run schema)", async () => {
  expect(await renderSchema()).toBe(fs.readFileSync(schemaFile, "utf8"));
}, 120_000);

describe("the published interface", () => {
  const schema = JSON.parse(fs.readFileSync(schemaFile, "utf8")) as {
    resources: Record<string, { inputProperties: Record<string, object>; properties: object; description: string }>;
    types: Record<string, { properties?: Record<string, object> }>;
  };

  test("holds the components that a user composes, and no other", () => {
    const names = ["ComfyUi", "GpuCluster", "GpuMachine", "GpuPod", "LiteLlm", "Ollama", "Vllm"];
    expect(Object.keys(schema.resources).sort()).toEqual(names.map((name) => `talos-gpu:index:${name}`));
  });

  test("GpuCluster gives what others wait for, and nothing else", () => {
    expect(Object.keys(schema.resources["talos-gpu:index:GpuCluster"]!.properties).sort()).toEqual([
      "endpoints",
      "gpuReady",
      "gpuResourceName",
      "kubeconfig",
      "machines",
      "runtimeClassName",
      "talosconfig",
    ]);
  });

  test("every component, input and output says what it is", () => {
    for (const [token, { description, inputProperties, properties }] of Object.entries(schema.resources)) {
      expect([token, description]).toEqual([token, expect.stringMatching(/\w/)]);
      const silent = Object.entries({ ...inputProperties, ...properties }).filter(
        ([, property]) => !("description" in property),
      );
      expect([token, silent.map(([key]) => key)]).toEqual([token, []]);
    }
    expect(JSON.stringify(schema)).not.toContain("[object Object]");
  });
});
