import * as fs from "node:fs";
import * as path from "node:path";
import { type ClusterSpec, InvalidStackError, parseSpec, findingsOf } from "../components/recipe";
import { boundedText, reasonOf } from "../components/lookups/bounded-file";
import { withExternal } from "../components/lookups/external-files";
import { boundedYaml } from "../components/recipe/rules/yaml";
import { credentialKeys } from "../components/stack/configuration";

/** Root of the repository: the stacks and the packages are found from here, whatever the working directory is. */
export const repository = path.dirname(__dirname);

/** Folder of the stack program and its stack files. */
export const stacksDir = path.join(repository, "stacks");

const project = "talos-gpu";

/** Names of the stacks that have a file, sorted. */
export function stackNames(): string[] {
  if (!fs.existsSync(stacksDir)) return []; // the command `talos-gpu` where it is installed, not in a clone
  return fs
    .readdirSync(stacksDir)
    .map((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1])
    .filter((name) => name !== undefined)
    .sort();
}

/** Name of a stack, given as its name or as the path of its file: what stands between `Pulumi.` and `.yaml`. */
export function stackNameOf(nameOrFile: string): string {
  return /^(?:Pulumi\.)?(.+?)(?:\.ya?ml)?$/.exec(path.basename(nameOrFile))![1]!;
}

/**
 * Configuration of a stack as its file has it, with what the files of `external` say and without its credentials: key
 * without the project's name, value as data. It is not validated here; that is the stack program's task, also in the
 * lab.
 *
 * @param nameOrFile name of a stack of this repository, or path of any stack file.
 * @throws Error with the known names when there is no such stack, or naming the file when it is no YAML.
 */
export function readStackFile(nameOrFile: string): Record<string, unknown> {
  const isPath = /[/\\]|\.ya?ml$/.test(nameOrFile);
  const file = isPath ? nameOrFile : path.join(stacksDir, `Pulumi.${nameOrFile}.yaml`);
  if (!fs.existsSync(file)) {
    throw new Error(
      `--stack: there is no ${isPath ? "file" : "stack"} ${nameOrFile}, so nothing is known of it; take ${["the path of a stack file", ...stackNames()].join(", or ")}`,
    );
  }
  const config = configurationOf(textOf(file), file);
  return { ...config, ...withExternal(config, path.dirname(file)) };
}

/** Text of a stack file. Throws an Error that names it where it cannot be read, e.g. as it is a folder. */
export function textOf(file: string): string {
  try {
    return boundedText(file);
  } catch (error) {
    throw new Error(
      `--stack: ${file} cannot be read (${reasonOf(error)}), so nothing is known of it; name a stack file`,
      { cause: error },
    );
  }
}

/**
 * Configuration in the text of a stack file, or of an earlier version of it.
 *
 * @throws Error naming the file when it is no YAML, or not that of a stack.
 */
export function configurationOf(text: string, file: string): Record<string, unknown> {
  const document = mappingOf(readYaml(text, file), file, "");
  return Object.fromEntries(
    Object.entries(mappingOf(document["config"], file, "config: "))
      .filter(([key]) => !key.includes(":") || key.startsWith(`${project}:`)) // without a name it is this project's
      .map(([key, value]): [string, unknown] => [key.replace(`${project}:`, ""), value])
      .filter(([key]) => !credentialKeys.includes(key)),
  );
}

/** A mapping, where there is something at all. */
function mappingOf(value: unknown, file: string, where: string): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(
    `${file}: ${where}is not a mapping, so the stack is unknown; name a stack file, Pulumi.<stack>.yaml`,
  );
}

function readYaml(text: string, file: string): unknown {
  try {
    return boundedYaml(text);
  } catch (error) {
    throw new Error(
      `${file}: is not YAML, so the stack is unknown; correct it: ${(error as Error).message.replace(/:$/, "")}`,
      { cause: error },
    );
  }
}

/**
 * The cluster that a stack's configuration describes, as far as its shape is right. What is wrong with its meaning
 * stays the stack program's to report.
 *
 * @throws InvalidStackError with every finding when the shape is wrong.
 */
export function clusterOf(config: Record<string, unknown>): ClusterSpec {
  const { spec } = parseSpec(config);
  if (spec === undefined) throw new InvalidStackError(findingsOf(config));
  return spec;
}
