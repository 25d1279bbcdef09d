import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

// tests/e2e brings examples/yaml up and previews examples/compose; what a reader sees of them first is told here at once.

interface Template {
  resources: Record<string, { type: string; properties: Record<string, unknown>; options?: Record<string, unknown> }>;
}
interface Schema {
  resources: Record<string, { inputProperties: Record<string, unknown>; requiredInputs?: string[] }>;
}

const root = path.resolve(__dirname, "../..");
const read = (file: string): string => fs.readFileSync(path.join(root, file), "utf8");
const { resources } = parse(read("examples/yaml/Pulumi.yaml")) as Template;
const schema = JSON.parse(read("sdk/schema.json")) as Schema;
const ours = Object.entries(resources).filter(([, { type }]) => type.startsWith("talos-gpu:"));

// pulumi/pulumi-yaml v1.38.1, pkg/pulumiyaml/ast/template.go, ResourceOptionsDecl.Providers: a list of expressions.
test("the YAML example gives providers as a list", () => {
  const lists = ours.map(([name, { options }]) => [name, Array.isArray(options?.["providers"])]);
  expect(lists).toEqual(ours.map(([name]) => [name, true]));
});

test.each(ours)("the YAML example's %s says what the schema has, and all that it requires", (_name, resource) => {
  const { inputProperties, requiredInputs = [] } = schema.resources[resource.type.replace(":", ":index:")]!;
  const said = Object.keys(resource.properties);
  expect(said.filter((key) => !(key in inputProperties))).toEqual([]);
  expect(requiredInputs.filter((key) => !said.includes(key))).toEqual([]);
});

// pulumi-kubernetes, provider/pkg/provider/provider.go, DiffConfig: without it another server URL replaces the provider, and every object.
test.each([
  ["compose/index.ts", "clusterIdentifier: pulumi.getStack()"],
  ["typescript/index.ts", "clusterIdentifier: pulumi.getStack()"],
  ["python/__main__.py", "cluster_identifier=pulumi.get_stack()"],
  ["go/main.go", '"clusterIdentifier": pulumi.String(ctx.Stack())'],
  ["yaml/Pulumi.yaml", "clusterIdentifier: ${pulumi.stack}"],
])("examples/%s: the provider of Kubernetes keeps its cluster under another server URL", (file, identifier) => {
  expect(read(`examples/${file}`)).toContain(identifier);
});
