import * as fs from "node:fs";
import * as path from "node:path";
import { Document, isMap, isScalar, type Node, visit } from "yaml";
import type { Finding } from "../components/recipe/index";
import { printable } from "../components/recipe/rules/printable";
import { stacksDir } from "../stacks/stack-file";

/** Placeholder for the model of a card. No card has this name, so the checks ask for the model. */
export const unnamed = "TODO";

/** The line for a task of the user. */
export const taskText = ({
  field,
  problem,
  remedy,
}: Pick<Finding, "field" | "problem" | "remedy">): string => `${field}: ${problem}; ${remedy}`;

/** Texts for the comments of a stack file. */
export interface Comments {
  /** Lines at its top. */
  head: string[];
  /** Tasks and facts for the user, one item each. */
  tasksAndNotes: string[];
  /** Comment before a field, by the field's path, e.g. `machines.gpu-1`. */
  fields?: Record<string, string[]>;
}

/** The text of a stack file, `Pulumi.<stack>.yaml`. */
export function stackText(spec: object, { head, tasksAndNotes, fields = {} }: Comments): string {
  const config = Object.fromEntries(
    Object.entries(spec).map(([key, value]) => [`talos-gpu:${key}`, value as unknown]),
  );
  // Pulumi may read YAML 1.1, in which `yes` is no text.
  const document = new Document({ config }, { compat: "yaml-1.1" });
  const items = [...tasksAndNotes];
  for (const [field, texts] of Object.entries(fields)) {
    const key = keyAt(document, field);
    if (key === undefined) items.push(`${field}: ${texts.join("; ")}`);
    else key.commentBefore = texts.map((text) => ` ${oneLine(text)}`).join("\n");
  }
  const list = items.map((text) => ` - ${oneLine(text)}`);
  document.commentBefore = [
    ...head.map((line) => ` ${line}`),
    ...(list.length === 0 ? [] : ["", " Tasks and notes:", ...list]),
  ].join("\n");
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && node.value === unnamed)
        node.comment = " the card's model, e.g. RTX 3090";
      // Within double quotes YAML allows every escape.
      if (typeof node.value === "string" && printable(node.value) !== node.value)
        node.type = "QUOTE_DOUBLE";
    },
  });
  return printable(document.toString({ lineWidth: 0 }));
}

/**
 * The key of a field in a stack file's document; undefined if the file lacks the field. A machine's name may contain
 * dots, so `machines.a.b` is the field of the machine `a.b`.
 */
function keyAt(document: Document, field: string): Node | undefined {
  const [first = "", ...rest] = field.split(".");
  const keys = ["config", `talos-gpu:${first}`, ...(rest.length > 0 ? [rest.join(".")] : [])];
  const parent = document.getIn(keys.slice(0, -1));
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => String(key) === keys.at(-1))
    : undefined;
  return pair?.key as Node | undefined;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ");

const schemaFile = "stack.schema.json";

/**
 * Possible places of the schema of stack files: next to the stacks of a clone of this repository, or next to the built
 * command of an installed package.
 */
const places = [path.join(stacksDir, schemaFile), path.join(__dirname, schemaFile)];

/**
 * First line of a stack file, which makes an editor with the YAML language server complete and check the file.
 *
 * @param file the stack file; the path of the schema is relative to its folder. For standard output, the path is
 * relative to the working directory.
 * @returns the line with its line break; empty if the schema is not found, or if the schema's path contains a blank, at
 * which the editor would end the path.
 */
export function editorLine(file: string | undefined): string {
  const folder = file === undefined ? process.cwd() : path.dirname(path.resolve(file));
  const schema = [path.join(folder, schemaFile), ...places].find((place) => fs.existsSync(place));
  if (schema === undefined) return "";
  const relative = path.relative(folder, schema).split(path.sep).join("/");
  return /\s/.test(relative) ? "" : `# yaml-language-server: $schema=${relative}\n`;
}
