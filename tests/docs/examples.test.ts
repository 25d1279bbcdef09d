import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { blocksOf } from "./pages";

// tests/e2e runs examples/yaml and previews examples/compose. This file quickly tests what a reader sees first.

interface Template {
  resources: Record<
    string,
    { type: string; properties: Record<string, unknown>; options?: Record<string, unknown> }
  >;
}
interface Schema {
  resources: Record<
    string,
    { inputProperties: Record<string, unknown>; requiredInputs?: string[] }
  >;
  types: Record<
    string,
    { properties?: Record<string, unknown>; required?: string[]; enum?: { value: string }[] }
  >;
}

const root = path.resolve(__dirname, "../..");
const read = (file: string): string => fs.readFileSync(path.join(root, file), "utf8");
const { resources } = parse(read("examples/yaml/Pulumi.yaml")) as Template;
const schema = JSON.parse(read("sdk/schema.json")) as Schema;
const components = Object.entries(resources).filter(([, { type }]) =>
  type.startsWith("talos-gpu:"),
);

// pulumi/pulumi-yaml v1.38.1, pkg/pulumiyaml/ast/template.go, ResourceOptionsDecl.Providers: a list of expressions.
test("every component in the YAML example passes providers as a list", () => {
  expect(components).not.toEqual([]);
  const withoutList = components.filter(
    ([, { options }]) => !Array.isArray(options?.["providers"]),
  );
  expect(withoutList).toEqual([]);
});

test.each(components)(
  "the YAML example's %s sets only fields of the schema, and all required ones",
  (_name, resource) => {
    const { inputProperties, requiredInputs = [] } =
      schema.resources[resource.type.replace(":", ":index:")]!;
    const fields = Object.keys(resource.properties);
    expect(fields.filter((key) => !(key in inputProperties))).toEqual([]);
    expect(requiredInputs.filter((key) => !fields.includes(key))).toEqual([]);
  },
);

// pulumi-kubernetes, provider/pkg/provider/provider.go, DiffConfig: without it another server URL replaces the
// provider, and every object.
test.each([
  ["compose/index.ts", "clusterIdentifier: pulumi.getStack()"],
  ["typescript/index.ts", "clusterIdentifier: pulumi.getStack()"],
  ["python/__main__.py", "cluster_identifier=pulumi.get_stack()"],
  ["go/main.go", '"clusterIdentifier": pulumi.String(ctx.Stack())'],
  ["csharp/Program.cs", "ClusterIdentifier = Deployment.Instance.StackName"],
  ["yaml/Pulumi.yaml", "clusterIdentifier: ${pulumi.stack}"],
])("examples/%s sets clusterIdentifier of its Kubernetes provider", (file, identifier) => {
  expect(read(`examples/${file}`)).toContain(identifier);
});

// The CLI does not contain Pulumi's C# generator as a Go module, so no compiler reads this example here. The test
// compares its names with the schema by the generator's rules (pulumi-dotnet, pulumi-language-dotnet/codegen): a
// property's name is capitalised, and a type's name ends in `Args`.
describe("the C# example", () => {
  const text = read("examples/csharp/Program.cs");
  const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

  /** The text between the braces that follow a position. */
  function bodyAt(start: number): string {
    const openingBrace = text.indexOf("{", start);
    for (let depth = 0, position = openingBrace; position < text.length; position++) {
      if (text[position] === "{") depth++;
      if (text[position] === "}" && --depth === 0) return text.slice(openingBrace + 1, position);
    }
    throw new Error("a brace stays open");
  }

  /** Names that an initializer itself sets, without those inside its values. */
  function namesIn(body: string): string[] {
    let depth = 0;
    let outerText = "";
    for (const character of body) {
      if (character === "}") depth--;
      if (depth === 0) outerText += character;
      if (character === "{") depth++;
    }
    return [...outerText.matchAll(/(?<![\w.])([A-Z]\w*)\s*=(?!=)/g)].map(([, name]) => name!);
  }

  const createdArgs = [...text.matchAll(/new ([A-Z]\w*)Args\b/g)].map(
    ({ 1: name, index }) => [name!, index] as const,
  );

  test("creates the cluster, a machine, its card and the device plugin", () => {
    expect(createdArgs.map(([name]) => name)).toEqual([
      "GpuCluster",
      "MachineEntrySpec",
      "GpuSpec",
      "DevicePluginSpec",
    ]);
  });

  test.each(createdArgs)(
    "%sArgs sets only fields of the schema, and all required ones",
    (name, index) => {
      const resource = schema.resources[`talos-gpu:index:${name}`];
      const type = schema.types[`talos-gpu:index:${name}`];
      const knownFields = Object.keys(resource?.inputProperties ?? type!.properties!).map(
        capitalized,
      );
      const requiredFields = (resource?.requiredInputs ?? type?.required ?? []).map(capitalized);
      const fields = namesIn(bodyAt(index));
      expect(fields.length).toBeGreaterThan(0);
      expect(fields.filter((field) => !knownFields.includes(field))).toEqual([]);
      expect(requiredFields.filter((field) => !fields.includes(field))).toEqual([]);
    },
  );

  test.each([
    ["MachineRole", "Worker"],
    ["ConfigurationOwner", "Adopted"],
  ])("uses %s.%s, which the schema has", (name, value) => {
    expect(text).toContain(`${name}.${value}`);
    expect(
      schema.types[`talos-gpu:index:${name}`]!.enum!.map((member) => capitalized(member.value)),
    ).toContain(value);
  });
});

// pulumi/registry, .github/pull_request_template.md: the front matter, and an example in each language.
describe("the package's pages in Pulumi's registry", () => {
  test.each(["docs/_index.md", "docs/installation-configuration.md"])(
    "%s has front matter with title, description and layout",
    (page) => {
      const [, matter] = /^---\n([\s\S]+?)^---\n/m.exec(read(page))!;
      const text = expect.stringMatching(/\w/) as unknown;
      expect(parse(matter!)).toEqual({ title: text, meta_desc: text, layout: "package" });
    },
  );

  test("the registry's chooser has every language of the examples", () => {
    const page = read("docs/_index.md");
    const [, chooser = ""] = /\{\{< chooser language "(.+)" >\}\}/.exec(page) ?? [];
    const tabs = [
      ...page.matchAll(
        /\{\{% choosable language (\w+) %\}\}\n\n```(\w+)\n[\s\S]+?\n```\n\n\{\{% \/choosable %\}\}/g,
      ),
    ];
    expect(tabs.map(([, tab]) => tab)).toEqual(chooser.split(","));
    expect(tabs.map(([, , block]) => block)).toEqual(chooser.split(","));
    expect(tabs).toHaveLength(5);
  });

  test.each([
    ["typescript", "examples/typescript/index.ts"],
    ["python", "examples/python/__main__.py"],
    ["go", "examples/go/main.go"],
    ["csharp", "examples/csharp/Program.cs"],
    ["yaml", "examples/yaml/Pulumi.yaml"],
  ])("the example in %s equals the file %s", (language, file) => {
    const blocks = blocksOf("docs/_index.md", new RegExp(`^${language}$`));
    expect(blocks.map((block) => block.trim())).toEqual([read(file).trim()]);
  });
});

// pulumi/pulumi v3.259.0: without these files, `pulumi package add` fails
// (sdk/python/cmd/pulumi-language-python/main.go, Link; for Go `go mod edit`), or installs into any Python that it
// finds.
test.each([
  ["python", "requirements.txt", /^pulumi>=3.*\npulumi-kubernetes>=4/],
  ["go", "go.mod", /^module \S+\n\ngo 1\.\d+\n/],
  ["typescript", "package.json", /"@pulumi\/kubernetes"/],
  ["csharp", "gpu-csharp.csproj", /Include="Pulumi.Kubernetes"/],
])("examples/%s has the file %s, which pulumi package add changes", (folder, file, text) => {
  expect(read(`examples/${folder}/${file}`)).toMatch(text);
});

test("examples/python uses a virtual environment", () => {
  expect(parse(read("examples/python/Pulumi.yaml"))).toMatchObject({
    runtime: { name: "python", options: { virtualenv: "venv" } },
  });
});

test("the Go example imports the module name of an SDK from package add", () => {
  const { language } = JSON.parse(read("sdk/schema.json")) as {
    language: { go: { importBasePath: string } };
  };
  expect(read("examples/go/main.go")).toContain(`talosgpu "${language.go.importBasePath}"`);
});
