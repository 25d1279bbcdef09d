import * as fs from "node:fs";
import * as path from "node:path";
import { type ClusterSpec, InvalidStackError, parseSpec, findingsOf } from "../components/recipe";
import { boundedText, reasonOf } from "../components/lookups/bounded-file";
import { withExternal } from "../components/lookups/external-files";
import { boundedYaml } from "../components/recipe/rules/yaml";
import { credentialKeys } from "../components/stack/configuration";

/**
 * Root of the repository. The paths of the stacks and packages begin here, so they do not depend on the working
 * directory.
 */
export const repository = path.dirname(__dirname);

/** Folder of the stack program and its stack files. */
export const stacksDir = path.join(repository, "stacks");

const project = "talos-gpu";

/** Names of the stacks that have a file, sorted. */
export function stackNames(): string[] {
  if (!fs.existsSync(stacksDir)) return []; // The folder is missing if the command `talos-gpu` is installed without a clone.
  return fs
    .readdirSync(stacksDir)
    .map((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1])
    .filter((name) => name !== undefined)
    .sort();
}

/** Name of a stack from its name or from the path of its file: the part between `Pulumi.` and `.yaml`. */
export function stackNameOf(nameOrFile: string): string {
  return /^(?:Pulumi\.)?(.+?)(?:\.ya?ml)?$/.exec(path.basename(nameOrFile))![1]!;
}

/**
 * Configuration in a stack's file: values as data, by the key without the project's name. It includes the content of
 * the files of `external`, and no credentials. It is not validated, because the stack program does this, also in the
 * lab.
 *
 * @param nameOrFile name of a stack of this repository, or path of any stack file.
 * @throws Error with the known names if the stack does not exist, or with the file's name if the file is not YAML.
 */
export function readStackFile(nameOrFile: string): Record<string, unknown> {
  const isPath = /[/\\]|\.ya?ml$/.test(nameOrFile);
  const file = isPath ? nameOrFile : path.join(stacksDir, `Pulumi.${nameOrFile}.yaml`);
  if (!fs.existsSync(file)) {
    throw new Error(
      `--stack: there is no ${isPath ? "file" : "stack"} ${nameOrFile}, so the stack is unknown; name ${["the path of a stack file", ...stackNames()].join(", or ")}`,
    );
  }
  const config = configurationOf(textOf(file), file);
  return { ...config, ...withExternal(config, path.dirname(file)) };
}

/**
 * Text of a stack file.
 *
 * @throws Error with the file's name if it cannot be read, e.g. because it is a folder.
 */
export function textOf(file: string): string {
  try {
    return boundedText(file);
  } catch (error) {
    throw new Error(
      `--stack: ${file} cannot be read (${reasonOf(error)}), so the stack is unknown; name a stack file`,
      { cause: error },
    );
  }
}

/**
 * Configuration in the text of a stack file, or of an earlier version of it.
 *
 * @throws Error with the file's name if the text is not YAML, or not that of a stack.
 */
export function configurationOf(text: string, file: string): Record<string, unknown> {
  const document = mappingOf(readYaml(text, file), file, "");
  return Object.fromEntries(
    Object.entries(mappingOf(document["config"], file, "config: "))
      .filter(([key]) => !key.includes(":") || key.startsWith(`${project}:`)) // A key without a project's name belongs to this project.
      .map(([key, value]): [string, unknown] => [key.replace(`${project}:`, ""), value])
      .filter(([key]) => !credentialKeys.includes(key)),
  );
}

/** The value as a mapping, or undefined if it is missing. */
function mappingOf(value: unknown, file: string, location: string): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(
    `${file}: ${location}is not a mapping, so the stack is unknown; name a stack file, Pulumi.<stack>.yaml`,
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
 * The cluster that a stack's configuration describes, as far as its shape is right. The stack program reports mistakes
 * of meaning.
 *
 * @throws InvalidStackError with all findings if the shape is wrong.
 */
export function clusterOf(config: Record<string, unknown>): ClusterSpec {
  const { spec } = parseSpec(config);
  if (spec === undefined) throw new InvalidStackError(findingsOf(config));
  return spec;
}
