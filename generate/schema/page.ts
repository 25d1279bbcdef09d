import { clusterSchema, type JsonSchema, schemaAt } from "./json-schema";
import { type Field, fieldsOfStack } from "./fields";

const intro = `# Every field of a stack

Look up a field of a stack file (\`Pulumi.<stack>.yaml\`, under \`config:\`, each key with \`talos-gpu:\` before it). A program gives
\`GpuCluster\` the same fields. Open a field to see its values, its default, an example, and what a change of it causes.

Credentials are not here: [operations](operations.md#credentials) has them. An editor with the YAML language server shows this page's text
as you type. \`npm run schema\` makes the page from the docstrings in [components/recipe/spec](../components/recipe/spec).
`;

/**
 * Reference page of every field (Markdown): a section for each mapping, and an entry for each field that shows one line
 * until opened.
 */
export function referencePage(fields: Field[] = fieldsOfStack()): string {
  const schema = clusterSchema(fields);
  const pageFields = fields.filter((field) => !isOfMachines(field, fields));
  const sections = sectionsOf(pageFields);
  return [intro, ...sections.map((sectionFields) => section(sectionFields, schema))].join("\n");
}

/**
 * Whether a field of `machineDefaults` or of a pool has the same meaning as a field of a machine: the page then shows
 * only the machine's field.
 */
function isOfMachines({ path, meaning }: Field, fields: Field[]): boolean {
  const subPath = /^(?:machineDefaults|pools\.\*)\.(.+)$/.exec(path.join("."))?.[1];
  return fields.some(
    (otherField) =>
      otherField.path.join(".") === `machines.*.${subPath}` && otherField.meaning === meaning,
  );
}

/** A mapping of the stack. */
interface Section {
  /** Its path, as a user writes it; empty for the stack itself. */
  owner: string;
  /** Mappings with the same fields, which have no section of their own. */
  twins: string[];
  /** Fields that are shown. */
  fields: Field[];
  /** Fields with the same meaning in an earlier section, by that section's owner. */
  same: Map<string, Field[]>;
}

/**
 * Sections in the order of their fields. A field that several mappings have is shown in the first of them, and the
 * sections of the other mappings refer to it.
 */
function sectionsOf(fields: Field[]): Section[] {
  const byOwner = new Map<string, Field[]>();
  for (const field of fields)
    byOwner.set(ownerOf(field), [...(byOwner.get(ownerOf(field)) ?? []), field]);
  const sections: Section[] = [];
  const sectionsByContent = new Map<string, Section>();
  const firstOwners = new Map<string, string>();
  for (const [owner, ownFields] of byOwner) {
    const twin = sectionsByContent.get(ownFields.map(textOf).join("\n"));
    if (twin) {
      twin.twins.push(owner);
      continue;
    }
    const newSection: Section = { owner, twins: [], fields: [], same: new Map() };
    sectionsByContent.set(ownFields.map(textOf).join("\n"), newSection);
    for (const field of ownFields) {
      const key = `${parentOf(owner)} ${textOf(field)}`;
      const firstOwner = firstOwners.get(key);
      if (firstOwner === undefined) {
        firstOwners.set(key, owner);
        newSection.fields.push(field);
      } else newSection.same.set(firstOwner, [...(newSection.same.get(firstOwner) ?? []), field]);
    }
    sections.push(newSection);
  }
  return sections;
}

/** Key that is equal for two fields of one meaning. */
const textOf = ({ path, meaning, required, default: defaultValue }: Field): string =>
  JSON.stringify([path.at(-1), meaning, required, defaultValue]);

const parentOf = (owner: string): string => owner.split(".").slice(0, -1).join(".");

/** Path of a field's mapping, as a user writes it. */
function ownerOf({ path }: Field): string {
  return written(path.slice(0, -1));
}

function written(path: string[]): string {
  return path
    .map((part) => (part === "*" ? "<name>" : part))
    .join(".")
    .replaceAll(".[]", "[]");
}

const inCode = (names: string[]): string => names.map((name) => `\`${name}\``).join(", ");

function section({ owner, twins, fields, same }: Section, schema: JsonSchema): string {
  const sameLines = [...same].map(
    ([firstOwner, twinsThere]) =>
      `As in \`${firstOwner}\`: ${inCode(twinsThere.map(({ path }) => path.at(-1)!))}.`,
  );
  const pool = "Also every field of `machines.<name>`, except `address` and `uuid`.";
  const lines = [
    ...(owner.startsWith("pools") ? [pool] : []),
    ...(twins.length > 0 ? [`The same fields: ${inCode(twins)}.`] : []),
    ...sameLines,
  ];
  return [
    `## ${owner === "" ? "The stack" : `\`${owner}\``}`,
    "",
    ...lines.flatMap((line) => [line, ""]),
    ...fields.map((field) => entry(field, schemaAt(schema, field.path))),
  ].join("\n");
}

/** Entry of a field: its first sentence is always visible, the rest after a click. */
function entry(field: Field, schema: JsonSchema): string {
  const { path, required, meaning, causes } = field;
  const facts = [
    typeOf(schema),
    required ? "required" : field.default === undefined ? "" : `default: ${field.default}`,
    field.example === undefined ? "" : `example: \`${field.example}\``,
  ];
  const [first, rest] = firstSentence(meaning);
  const name = `<code>${path.at(-1)!}</code>${required ? " (required)" : ""}`;
  const details = [rest, causes ? `**Causes** ${causes}.` : ""].filter((text) => text !== "");
  return [
    `<details><summary><a id="${anchorOf(path)}"></a>${name}: ${asHtml(first)}</summary>`,
    "",
    facts.filter((fact) => fact !== "").join(" · "),
    "",
    ...(details.length > 0 ? [details.join(" "), ""] : []),
    "</details>",
    "",
  ].join("\n");
}

/** The first sentence of a text, and the rest. A sentence ends before a capital, a backtick or a digit. */
function firstSentence(text: string): [first: string, rest: string] {
  const end = /(?<!\be\.g|\bi\.e)[.](?= +[A-Z`\d])/.exec(text);
  return end === null
    ? [text, ""]
    : [text.slice(0, end.index + 1), text.slice(end.index + 1).trim()];
}

/** Inline Markdown as HTML, since renderers do not read Markdown within `<summary>`. */
export const asHtml = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>");

/** Anchor of a field, e.g. `machines-gpus-model`. */
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
  const [, kind, items = ""] = /^(list|mapping)( of .*)$/.exec(type) ?? [undefined, type];
  return type === "anything" ? type : `${kind}s${items}`;
}
