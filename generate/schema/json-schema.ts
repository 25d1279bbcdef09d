import { parse } from "yaml";
import * as z from "zod";
import { specSchema } from "../../components/recipe/stack/spec-schema";
import { credentialKeys } from "../../components/stack/configuration";
import { type Field, fieldsOfStack } from "./fields";

/** A JSON schema, as far as this package makes any. */
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
 * JSON schema of a stack (`ClusterSpec`): shapes and limits from the schema that the checks read stacks by, words
 * from the docstrings. It is never stricter than the checks, and says nothing of what values mean together.
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
 * JSON schema of a stack's file, `Pulumi.<stack>.yaml`: an editor that has the YAML language server completes and
 * checks by it. Draft 7, which is the newest that editors agree on.
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
    // Pulumi takes a key without a project's name for this one's; other projects check their own keys.
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

/** Text of the committed schema. */
export function renderStackSchema(): string {
  return `${JSON.stringify(stackFileSchema(), undefined, 2)}\n`;
}

/** The part of a schema that a field's path leads to. */
export function schemaAt(schema: JsonSchema, path: string[]): JsonSchema {
  return path.reduce((at, part) => {
    const next =
      part === "[]" ? at.items : part === "*" ? at.additionalProperties : at.properties?.[part];
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

/** Parts that zod adds by itself: JavaScript's largest number as a limit, and that keys are texts. */
function tidy(schema: JsonSchema): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.propertyNames?.type === "string" && Object.keys(schema.propertyNames).length === 1)
    delete schema.propertyNames;
}
