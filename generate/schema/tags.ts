import { type Field, fieldsOfStack } from "./fields";

/** A package's schema, reduced to its descriptions. */
export interface PackageSchema {
  name: string;
  version?: string | undefined;
  description?: string | undefined;
  resources?: Record<string, Described>;
  types?: Record<string, Described>;
  language?: Record<string, object>;
}

interface Described {
  description?: string;
  inputProperties?: Record<string, { description?: string }>;
  properties?: Record<string, { description?: string }>;
}

/**
 * The package's schema with defaults and examples in its descriptions, for languages that do not see the docstrings'
 * tags. A field is identified by name and meaning: fields of the same meaning have the same default everywhere.
 */
export function withTags(schema: PackageSchema, fields: Field[] = fieldsOfStack()): PackageSchema {
  const fieldsByMeaning = new Map(
    fields.map((field) => [keyOf(field.path.at(-1)!, field.meaning), field]),
  );
  for (const owner of [
    ...Object.values(schema.resources ?? {}),
    ...Object.values(schema.types ?? {}),
  ])
    for (const [name, property] of Object.entries({
      ...owner.properties,
      ...owner.inputProperties,
    })) {
      const field = fieldsByMeaning.get(keyOf(name, property.description ?? ""));
      if (field) property.description = `${property.description}\n${tagsOf(field)}`.trimEnd();
    }
  return schema;
}

function keyOf(name: string, meaning: string): string {
  return `${name}: ${meaning.replace(/\s+/g, " ").trim()}`;
}

function tagsOf({ default: unsaid, example, causes }: Field): string {
  return [
    ...(unsaid === undefined ? [] : [`Default: ${unsaid}.`]),
    ...(example === undefined ? [] : [`Example: \`${example}\`.`]),
    ...(causes === undefined ? [] : [`A change causes ${causes}.`]),
  ].join(" ");
}
