import * as fs from "node:fs";
import * as path from "node:path";
import { stacksDir } from "../stacks/stack-file";

const name = "stack.schema.json";

/** Where the schema of stack files may be: in a clone beside its stacks, in an installed package beside the built command. */
const places = [path.join(stacksDir, name), path.join(__dirname, name)];

/**
 * First line of a stack file, by which an editor with the YAML language server completes and checks it.
 *
 * @param file that is to have it; the schema is named relative to its folder. Of standard output: the working directory.
 * @returns the line with its end; empty where the schema is not found, or where its path has a blank, which would end it.
 */
export function editorLine(file: string | undefined): string {
  const folder = file === undefined ? process.cwd() : path.dirname(path.resolve(file));
  const schema = [path.join(folder, name), ...places].find((place) => fs.existsSync(place));
  if (schema === undefined) return "";
  const relative = path.relative(folder, schema).split(path.sep).join("/");
  return /\s/.test(relative) ? "" : `# yaml-language-server: $schema=${relative}\n`;
}
