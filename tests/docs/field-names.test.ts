import { execFileSync } from "node:child_process";
import * as path from "node:path";
import * as ts from "typescript";
import { fieldsOfStack } from "../../generate/schema/fields";
import { clusterSchema, type JsonSchema } from "../../generate/schema/json-schema";
import { repository } from "../../stacks/stack-file";
import { pages, read } from "./pages";

// Messages, remedies and pages may still have the old name of a renamed field, and no compiler checks them.

const schema = clusterSchema();

/** Fields of a stack that contain further fields. */
const groups = Object.entries(schema.properties!).flatMap(([name, field]) =>
  isGroup(field) ? [name] : [],
);

function isGroup({ properties, additionalProperties, patternProperties }: JsonSchema): boolean {
  return [properties, additionalProperties, patternProperties].some(
    (part) => typeof part === "object",
  );
}

/** A path of a stack within a text, such as `machines.<name>.gpus`, with anything as the name. */
const paths = new RegExp(
  String.raw`(?<![\w./:-])(?:${groups.join("|")})(?:\.(?:\*|<[\w-]+>|[\w-]+))+`,
  "g",
);

const pathsOf = (text: string): string[] =>
  [...text.matchAll(paths)]
    .map(([field]) => field)
    .filter((field) => !/\.(ts|go|md|json|yaml)$/.test(field));

/** Whether a path leads to a field. A placeholder (`*`, `<name>`) stands for any name. */
function isField([key, ...rest]: readonly string[], group: JsonSchema = schema): boolean {
  if (key === undefined) return true;
  if (!isGroup(group)) return group.type === undefined || group.type === "object"; // external values may have any key
  const { properties = {}, patternProperties = {}, additionalProperties } = group;
  const namedFields = /[*<]/.test(key)
    ? Object.values(properties)
    : Object.hasOwn(properties, key)
      ? [properties[key]!]
      : [];
  const fieldsOfAnyName = [additionalProperties, ...Object.values(patternProperties)].filter(
    (field) => typeof field === "object",
  );
  return [...namedFields, ...fieldsOfAnyName].some((field) => isField(rest, field));
}

/** Texts that look like such a path, but are chart values or an API group. */
const otherPaths = ["driver.enabled", "devicePlugin.enabled", "monitoring.coreos.com"];

/** Texts of a source file, with `*` for each inserted value. */
function textsOf(file: string): string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest);
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) texts.push(node.text);
    if (ts.isTemplateExpression(node))
      texts.push(
        [node.head.text, ...node.templateSpans.map(({ literal }) => `*${literal.text}`)].join(""),
      );
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}

const sources = execFileSync("git", ["ls-files", "components", "cli", "stacks", "policy"], {
  cwd: repository,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => path.extname(file) === ".ts");

const mentions = [
  ...sources.flatMap((file) =>
    textsOf(file).flatMap((text) => pathsOf(text).map((field) => ({ file, field }))),
  ),
  ...pages.flatMap((page) => pathsOf(read(page)).map((field) => ({ file: page, field }))),
];

test("texts mention more than 50 fields by their paths, and a misspelt path is recognised", () => {
  expect(new Set(mentions.map(({ field }) => field)).size).toBeGreaterThan(50);
  expect(isField(["machines", "gpu-1", "address"])).toBe(true);
  expect(isField(["machines", "gpu-1", "adress"])).toBe(false);
});

test("every field path in a message or a page exists in a stack", () => {
  const unknownFields = mentions.filter(
    ({ field }) => !otherPaths.includes(field) && !isField(field.split(".")),
  );
  expect(unknownFields).toEqual([]);
});

// A field that is documented, typed and tested may still have no effect.
test("code outside of types and schemas mentions every field of a stack", () => {
  const code = sources
    .filter((file) => file.startsWith("components/") && !/\/spec\/|spec-schema\.ts$/.test(file))
    .map(read)
    .join("\n");
  const unusedNames = fieldsOfStack()
    .map(({ path: keys }) => keys.at(-1)!)
    .filter((name) => /^\w+$/.test(name) && !new RegExp(String.raw`\b${name}\b`).test(code));
  expect([...new Set(unusedNames)]).toEqual([]);
});
