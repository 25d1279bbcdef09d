import * as fs from "node:fs";
import Ajv from "ajv";
import { parse } from "yaml";
import {
  type ClusterSpec,
  effectsOf,
  findingsOf,
  parseSpec,
  type Plan,
  planCluster,
} from "../../components/recipe";
import { referenceFile } from "../../generate/schema/main";
import { type Field, fieldsOfStack } from "../../generate/schema/fields";
import { clusterSchema, type JsonSchema, schemaAt } from "../../generate/schema/json-schema";
import { referencePage } from "../../generate/schema/page";
import { validStack } from "../recipe/stacks";

const fields = fieldsOfStack();
const schema = clusterSchema(fields);
const fieldsByPath = fields.map((field) => [field.path.join("."), field] as const);
/** One instance for all fields, since each new one compiles the meta-schema again. */
const ajv = new Ajv({ allErrors: true });

test("docs/reference.md equals the page that npm run schema generates", () => {
  expect(fs.readFileSync(referenceFile, "utf8")).toBe(referencePage(fields));
});

test("the page documents exactly the fields of the schema", () => {
  const pathsIn = (node: JsonSchema, parents: string[] = []): string[] => [
    ...Object.entries(node.properties ?? {}).flatMap(([key, child]) => [
      [...parents, key].join("."),
      ...pathsIn(child, [...parents, key]),
    ]),
    ...(node.items ? pathsIn(node.items, [...parents, "[]"]) : []),
    ...(typeof node.additionalProperties === "object"
      ? pathsIn(node.additionalProperties, [...parents, "*"])
      : []),
  ];
  expect(fieldsByPath.map(([name]) => name).sort()).toEqual(pathsIn(schema).sort());
});

test.each(fieldsByPath)(
  "%s has a meaning, an example, and a default if it is optional",
  (_name, field) => {
    expect(field.meaning).toMatch(/^[A-Z`].*\.$/s);
    expect(field.example).toMatch(/\S/);
    expect(field.default).toEqual(field.required ? undefined : expect.stringMatching(/\S/));
  },
);

test.each(fieldsByPath)("the example of %s is valid", (_name, { path, example }) => {
  ajv.validate(schemaAt(schema, path) as object, parse(example!));
  expect(ajv.errors ?? []).toEqual([]);
});

test("the page has a type for every field", () => {
  expect(referencePage(fields)).not.toMatch(/^anything ·/m);
});

test("the page names lists and mappings of values in the plural", () => {
  const types = referencePage(fields).match(/^(?:list|mapping) of [^·\n]+/gm)!;
  expect(types).toContain("mapping of lists of texts ");
  expect(types.filter((type) => /ss\b|ons\b/.test(type))).toEqual([]);
});

test("the examples of workloads that create their namespace name different namespaces", () => {
  const examples = fields.flatMap(({ path: [group, workload, field], example }) =>
    group === "workloads" && field === "namespace" && !["vllm", "pods"].includes(workload!)
      ? [example]
      : [],
  );
  expect(examples.length).toBeGreaterThan(2);
  expect(new Set(examples).size).toBe(examples.length);
});

test("the schema requires the same fields as the types", () => {
  const required = fieldsByPath.filter(([, { path }]) =>
    schemaAt(schema, path.slice(0, -1)).required?.includes(path.at(-1)!),
  );
  expect(required.map(([name]) => name)).toEqual(
    fieldsByPath.filter(([, field]) => field.required).map(([name]) => name),
  );
});

describe("the effect of a change", () => {
  const baseStack = validStack("rtx5070ti");
  const planOf = (stack: ClusterSpec): Plan => planCluster(parseSpec(stack).spec!);
  const planBefore = planOf(baseStack);
  /**
   * The stack with a field's example; undefined if this stack cannot have it, or only together with another field.
   */
  const stackWithExample = ({ path, example }: Field): ClusterSpec | undefined => {
    const stack = structuredClone(baseStack);
    let object = stack as unknown as Record<string, unknown>;
    for (const part of path.slice(0, -1)) {
      const key = part === "*" ? Object.keys(object)[0]! : part === "[]" ? "0" : part;
      object[key] ??= {};
      object = object[key] as Record<string, unknown>;
    }
    object[path.at(-1)!] =
      { talosVersion: "v1.12.5", clusterName: "other", kubernetesVersion: "v1.34.0" }[
        path.join()
      ] ?? parse(example!);
    return findingsOf(stack).length === 0 ? stack : undefined;
  };
  const editedStacks = fieldsByPath.flatMap(([name, field]) => {
    if (/^(?:machineDefaults|pools)\b/.test(name)) return []; // the same holds for one machine
    const hasInnerFields = fields.some(({ path }) => path.join(".").startsWith(`${name}.`)); // its inner fields have their own docs
    const stack =
      hasInnerFields && field.causes === undefined ? undefined : stackWithExample(field);
    return stack && JSON.stringify(stack) !== JSON.stringify(baseStack)
      ? [[name, field, stack] as const]
      : [];
  });

  test("more than 45 fields can be changed in one stack", () =>
    expect(editedStacks.length).toBeGreaterThan(45));

  test.each(editedStacks)(
    "the docs of %s mention a reboot exactly if a plan of the change does",
    (_name, { causes = "" }, stack) => {
      const effects = Object.values(effectsOf(planBefore, planOf(stack)));
      const isConditional = /\breboot only if\b/.test(causes);
      if (!isConditional)
        expect(/\b(?:one|and a) reboot\b/.test(causes)).toBe(
          effects.some(({ reboots }) => reboots !== "no"),
        );
    },
  );
});
