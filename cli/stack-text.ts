import * as fs from "node:fs";
import * as path from "node:path";
import { Document, isMap, isScalar, type Node, visit } from "yaml";
import type { Finding } from "../components/recipe/index";
import { printable } from "../components/recipe/rules/printable";
import { stacksDir } from "../stacks/stack-file";

/** Model of a card without a name yet. No card is called so: the checks ask for the name. */
export const unnamed = "TODO";

/** A task for the user, in a line. */
export const toDo = ({
  field,
  problem,
  remedy,
}: Pick<Finding, "field" | "problem" | "remedy">): string => `${field}: ${problem}; ${remedy}`;

/** Texts for the comments of a stack file. */
export interface Comments {
  /** Lines at its top. */
  head: string[];
  /** Tasks and facts for the user, an item each. */
  left: string[];
  /** Comment before a field, by the field's path, e.g. `machines.gpu-1`. */
  fields?: Record<string, string[]>;
}

/** A stack file, as `Pulumi.<stack>.yaml` has it. */
export function stackText(spec: object, { head, left, fields = {} }: Comments): string {
  const config = Object.fromEntries(
    Object.entries(spec).map(([key, value]) => [`talos-gpu:${key}`, value as unknown]),
  );
  // Pulumi's reader may be one of YAML 1.1, to which `yes` is no text.
  const document = new Document({ config }, { compat: "yaml-1.1" });
  const items = [...left];
  for (const [field, texts] of Object.entries(fields)) {
    const key = keyAt(document, field);
    if (key === undefined) items.push(`${field}: ${texts.join("; ")}`);
    else key.commentBefore = texts.map((text) => ` ${oneLine(text)}`).join("\n");
  }
  const list = items.map((text) => ` - ${oneLine(text)}`);
  document.commentBefore = [
    ...head.map((line) => ` ${line}`),
    ...(list.length === 0 ? [] : ["", " Left to you:", ...list]),
  ].join("\n");
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && node.value === unnamed)
        node.comment = " the card's model, e.g. RTX 3090";
      // Within these quotes a character that is written out means itself.
      if (typeof node.value === "string" && printable(node.value) !== node.value)
        node.type = "QUOTE_DOUBLE";
    },
  });
  return printable(document.toString({ lineWidth: 0 }));
}

/** `machines.a.b` is the machine `a.b`: names may have dots. */
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
 * Where the schema of stack files may be: in a clone next to its stacks, in an installed package next to the built
 * command.
 */
const places = [path.join(stacksDir, schemaFile), path.join(__dirname, schemaFile)];

/**
 * First line of a stack file, by which an editor with the YAML language server completes and checks it.
 *
 * @param file that is to have it; the schema is named relative to its folder. Of standard output: the working
 * directory.
 * @returns the line with its end; empty where the schema is not found, or where its path has a blank, which would end
 * it.
 */
export function editorLine(file: string | undefined): string {
  const folder = file === undefined ? process.cwd() : path.dirname(path.resolve(file));
  const schema = [path.join(folder, schemaFile), ...places].find((place) => fs.existsSync(place));
  if (schema === undefined) return "";
  const relative = path.relative(folder, schema).split(path.sep).join("/");
  return /\s/.test(relative) ? "" : `# yaml-language-server: $schema=${relative}\n`;
}
