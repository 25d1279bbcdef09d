import * as fs from "node:fs";
import * as path from "node:path";
import { files, read } from "../docs/pages";
import { renderSchema, schemaFile } from "../../generate/schema/main";

/** Source files of a folder of the repository, without built files. */
function sourceFiles(folder: string): string[] {
  const root = path.join(__dirname, "../..", folder);
  const files = fs.readdirSync(root, { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => /\.ts$/.test(file) && !/^(bin|node_modules)\b/.test(file))
    .map((file) => path.join(root, file));
}

describe("the published interface", () => {
  let text: string;
  let schema: {
    keywords: string[];
    resources: Record<
      string,
      { inputProperties: Record<string, object>; properties: object; description: string }
    >;
    types: Record<string, { properties?: Record<string, object> }>;
  };
  beforeAll(async () => {
    text = await renderSchema();
    schema = JSON.parse(text) as typeof schema;
  });

  test("equals the committed sdk/schema.json, which npm run build writes", () => {
    expect(files).toContain("sdk/schema.json");
    expect(fs.readFileSync(schemaFile, "utf8")).toBe(text);
  });

  // pulumi/registry, tools/resourcedocsgen, reads these fields; pulumi.com/docs, "Publishing to the Pulumi
  // Registry", requires them.
  test("has the fields that Pulumi's registry shows", () => {
    const address = expect.stringMatching(/^https:\/\/[\w.]+\/[\w./-]+$/) as unknown;
    expect(schema).toMatchObject({
      name: "talos-gpu",
      displayName: expect.stringMatching(/\w/) as unknown,
      publisher: expect.stringMatching(/\w/) as unknown,
      description: expect.stringMatching(/^[^\n<&]+$/) as unknown, // it is copied into a C# project without escapes
      repository: address,
      homepage: address,
      license: "Apache-2.0",
      logoUrl: address,
    });
    expect(schema.keywords).toEqual(
      expect.arrayContaining(["kind/component", "category/infrastructure"]),
    );
    const [, logo] = /\/main\/(.+)$/.exec((schema as unknown as { logoUrl: string }).logoUrl)!;
    expect(files).toContain(logo);
  });

  test.each(["typescript", "python", "go", "csharp", "yaml"])(
    "has an example in %s that equals one file in examples/",
    (language) => {
      const { description } = schema.resources["talos-gpu:index:GpuCluster"]!;
      const [, example] = new RegExp(`^\`\`\`${language}\n([\\s\\S]+?)^\`\`\`$`, "m").exec(
        description,
      )!;
      const matchingFiles = files.filter(
        (file) => file.startsWith("examples/") && read(file).trim() === example!.trim(),
      );
      expect(matchingFiles).toHaveLength(1);
    },
  );

  test("has exactly the exported component classes as resources", () => {
    const names = sourceFiles("components").flatMap((file) =>
      [
        ...fs
          .readFileSync(file, "utf8")
          .matchAll(/^export class (\w+) extends pulumi\.ComponentResource/gm),
      ].map(([, name]) => `talos-gpu:index:${name}`),
    );
    expect(names.length).toBeGreaterThan(5);
    expect(Object.keys(schema.resources).sort()).toEqual(names.sort());
  });

  test("has exactly the listed outputs of GpuCluster", () => {
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

  test("describes every component, input and output", () => {
    for (const [token, { description, inputProperties, properties }] of Object.entries(
      schema.resources,
    )) {
      expect([token, description]).toEqual([token, expect.stringMatching(/\w/)]);
      const undescribed = Object.entries({ ...inputProperties, ...properties }).filter(
        ([, property]) => !("description" in property),
      );
      expect([token, undescribed.map(([key]) => key)]).toEqual([token, []]);
    }
    expect(JSON.stringify(schema)).not.toContain("[object Object]");
  });
});
