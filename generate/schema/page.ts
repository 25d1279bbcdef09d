import { clusterSchema, type JsonSchema, schemaAt } from "./json-schema";
import { type Field, fieldsOfStack } from "./fields";

const intro = `# Every field of a stack

What a stack file (\`stacks/Pulumi.<stack>.yaml\`) says under \`config:\`, each key with \`talos-gpu:\` before it, and what a program gives
\`GpuCluster\`. Credentials are not in it: \`talosconfig\`, \`kubeconfig\`, \`machineSecrets\` and \`omniServiceAccountKey\` are secrets of
the stack, or come from environment variables, and so does \`omniEndpoint\`, which may be plain text ([credentials](credentials.md)).

This page is made from the schema and the docstrings of [components/recipe/stack](../components/recipe/stack) (\`npm run schema\`). An editor
that has the YAML language server shows the same while you write: the first line of a stack file names
its schema, which \`npm ci\` makes in a clone and which comes with the npm package.
`;

/** The page of every field (Markdown): a section per mapping. */
export function referencePage(fields: Field[] = fieldsOfStack()): string {
  const schema = clusterSchema(fields);
  const shown = fields.filter((field) => !isOfMachines(field, fields));
  const owners = [...new Set(shown.map(ownerOf))];
  return [
    intro,
    ...owners.map((owner) =>
      section(
        owner,
        shown.filter((field) => ownerOf(field) === owner),
        schema,
      ),
    ),
  ].join("\n");
}

/** Whether a field of all machines, or of a pool's, is that of one machine, where it is shown. */
function isOfMachines({ path, meaning }: Field, fields: Field[]): boolean {
  const rest = /^(?:machineDefaults|pools\.\*)\.(.+)$/.exec(path.join("."))?.[1];
  return fields.some(
    (other) => other.path.join(".") === `machines.*.${rest}` && other.meaning === meaning,
  );
}

/** The mapping that a field stands in, as a user writes its path. */
function ownerOf({ path }: Field): string {
  return written(path.slice(0, -1));
}

function written(path: string[]): string {
  return path
    .map((part) => (part === "*" ? "<name>" : part))
    .join(".")
    .replaceAll(".[]", "[]");
}

function section(owner: string, fields: Field[], schema: JsonSchema): string {
  return [
    `## ${owner === "" ? "The stack" : `\`${owner}\``}`,
    "",
    ...(owner.startsWith("pools")
      ? ["Every field of `machines.<name>` too, save `address` and `uuid`.", ""]
      : []),
    ...fields.map((field) => entry(field, schemaAt(schema, field.path))),
  ].join("\n");
}

function entry(field: Field, schema: JsonSchema): string {
  const { path, required, meaning, causes } = field;
  const facts = [
    typeOf(schema),
    required ? "required" : field.default === undefined ? "" : `default: ${field.default}`,
    field.example === undefined ? "" : `example: \`${field.example}\``,
  ];
  return [
    `### <a id="${anchorOf(path)}"></a>\`${path.at(-1)!}\``,
    `${facts.filter((fact) => fact !== "").join(" · ")}\\`,
    `${meaning}${causes ? ` **Causes** ${causes}.` : ""}`,
    "",
  ].join("\n");
}

/** What a link to one field ends with: `#machines-gpus-model`. */
const anchorOf = (path: string[]): string =>
  path.filter((part) => part !== "*" && part !== "[]").join("-");

/** A schema in words. */
function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(", or ");
  if (schema.enum) return schema.enum.map((word) => `\`${word}\``).join(", ");
  if (schema.type === "array") return `list of ${plural(typeOf(schema.items ?? {}))}`;
  if (schema.type === "object") {
    const items = schema.additionalProperties;
    return typeof items === "object" && Object.keys(items).length > 0
      ? `mapping of ${plural(typeOf(items))}`
      : "mapping";
  }
  if (schema.type === "integer" || schema.type === "number") {
    const word = schema.type === "integer" ? "whole number" : "number";
    return schema.minimum === undefined ? word : `${word} from ${schema.minimum} on`;
  }
  return schema.type === "boolean"
    ? "`true`, `false`"
    : schema.type === "string"
      ? "text"
      : "anything";
}

function plural(type: string): string {
  return type === "anything" ? type : `${type}s`;
}
