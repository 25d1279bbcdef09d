import { parse } from "yaml";
import * as z from "zod";
import { specSchema } from "../../components/recipe/stack/spec-schema";
import { credentialKeys } from "../../components/stack/configuration";
import { type Field, fieldsOfStack } from "./fields";

/** The subset of JSON schema that this package writes. */
export interface JsonSchema {
  $schema?: string;
  $ref?: string;
  title?: string;
  description?: string;
  examples?: unknown[];
  type?: string;
  enum?: string[];
  allOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  pattern?: string;
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  required?: string[];
  definitions?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[];
}

const project = "talos-gpu";

/**
 * JSON schema of a stack (`ClusterSpec`): shapes and limits come from the checks' own schema, descriptions from the
 * docstrings. It is never stricter than the checks, and does not judge combinations of values.
 */
export function clusterSchema(fields: Field[] = fieldsOfStack()): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(specSchema, {
    target: "draft-7",
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => tidy(jsonSchema as JsonSchema),
  }) as JsonSchema;
  for (const field of fields) Object.assign(schemaAt(schema, field.path), words(field));
  return schema;
}

/**
 * JSON schema of a stack's file, `Pulumi.<stack>.yaml`: with it, an editor that has the YAML language server completes
 * and checks the file. Draft 7 is the newest draft that all editors support.
 */
export function stackFileSchema(): JsonSchema {
  const { properties = {}, required = [], ...rest } = clusterSchema();
  const secret: JsonSchema = {
    description:
      "Credential: `pulumi config set --secret` writes it. The environment may give it in the file's place.",
    anyOf: [{ type: "string" }, { type: "object" }],
  };
  const definitions = {
    ...properties,
    ...Object.fromEntries(credentialKeys.map((key): [string, JsonSchema] => [key, secret])),
  };
  const reference = (key: string): JsonSchema => ({ $ref: `#/definitions/${key}` });
  const config: JsonSchema = {
    ...rest,
    description:
      "What the stack provisions. Each key begins with the project's name, `talos-gpu:`.",
    properties: Object.fromEntries(
      Object.keys(definitions).map((key): [string, JsonSchema] => [
        `${project}:${key}`,
        reference(key),
      ]),
    ),
    // Pulumi assigns a key without a project's name to this project; other projects check their own keys.
    patternProperties: {
      ...Object.fromEntries(
        Object.keys(definitions).map((key): [string, JsonSchema] => [`^${key}$`, reference(key)]),
      ),
      [`^(?!${project}:)[^:]+:`]: {},
    },
    additionalProperties: false,
    allOf: required.map((key) => ({
      anyOf: [{ required: [`${project}:${key}`] }, { required: [key] }],
    })),
  };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Stack file of talos-gpu",
    type: "object",
    properties: { config },
    required: ["config"],
    definitions,
  };
}

/** The committed schema as text. */
export function renderStackSchema(): string {
  return `${JSON.stringify(stackFileSchema(), undefined, 2)}\n`;
}

/** The part of a schema at a field's path. */
export function schemaAt(schema: JsonSchema, path: string[]): JsonSchema {
  return path.reduce((current, part) => {
    const next =
      part === "[]"
        ? current.items
        : part === "*"
          ? current.additionalProperties
          : current.properties?.[part];
    if (typeof next !== "object")
      throw new Error(`${path.join(".")}: the schema has no ${part}, but the types have`);
    return next;
  }, schema);
}

function words({ meaning, default: unsaid, example, causes }: Field): JsonSchema {
  const sentences = [
    meaning,
    ...(unsaid === undefined ? [] : [`Default: ${unsaid}.`]),
    ...(causes ? [`Causes ${causes}.`] : []),
  ];
  return {
    description: sentences.join(" "),
    ...(example === undefined ? {} : { examples: [parse(example)] }),
  };
}

/** Removes zod's automatic additions: JavaScript's largest number as a limit, and the rule that keys are strings. */
function tidy(schema: JsonSchema): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.propertyNames?.type === "string" && Object.keys(schema.propertyNames).length === 1)
    delete schema.propertyNames;
}
