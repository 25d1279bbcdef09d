import * as fs from "node:fs";
import * as path from "node:path";
import { renderSchema } from "../../generate/schema/main";

/** Sources of a folder of the repository; not what is built of them. */
function sources(folder: string): string[] {
  const root = path.join(__dirname, "../..", folder);
  const files = fs.readdirSync(root, { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => /\.ts$/.test(file) && !/^(bin|node_modules)\b/.test(file))
    .map((file) => path.join(root, file));
}

describe("the published interface", () => {
  let schema: {
    resources: Record<string, { inputProperties: Record<string, object>; properties: object; description: string }>;
    types: Record<string, { properties?: Record<string, object> }>;
  };
  beforeAll(async () => void (schema = JSON.parse(await renderSchema()) as typeof schema));

  test("holds the components that a user composes, and no other", () => {
    const names = sources("components").flatMap((file) =>
      [...fs.readFileSync(file, "utf8").matchAll(/^export class (\w+) extends pulumi\.ComponentResource/gm)].map(
        ([, name]) => `talos-gpu:index:${name}`,
      ),
    );
    expect(names.length).toBeGreaterThan(5);
    expect(Object.keys(schema.resources).sort()).toEqual(names.sort());
  });

  test("GpuCluster gives what others wait for, and nothing else", () => {
    expect(Object.keys(schema.resources["talos-gpu:index:GpuCluster"]!.properties).sort()).toEqual([
      "endpoints",
      "gpuNodeSelector",
      "gpuReady",
      "gpuResourceName",
      "kubeconfig",
      "machineSecrets",
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
