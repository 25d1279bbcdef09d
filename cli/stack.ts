import * as fs from "node:fs";
import * as path from "node:path";
import { type Plan, InvalidStackError, judge } from "../components/recipe/index";
import { readStackFile, stackNameOf, stacksDir } from "../stacks/stack-file";
import { selectedStack, withoutOwner } from "./selected-stack";
import { stackFolderOf } from "./stack-folder";
import { type Given, type Output, valueOf } from "./verb";

/**
 * The plan of a stack.
 *
 * @param nameOrFile of the stack; a name is looked for where Pulumi does, then where one works, then among the stacks
 * of this repository.
 * @throws Error when there is no such stack, or when its shape is wrong.
 */
export function planOfStack(nameOrFile: string): Plan {
  const { plan, findings } = judge(readStackFile(stackFileOf(nameOrFile)));
  if (plan === undefined) throw new InvalidStackError(findings);
  return plan;
}

/** Help text of `--stack`. */
export const stackHelp =
  "by its name or its file (default: PULUMI_STACK, or the stack that Pulumi has selected here)";

/**
 * The stack that a verb cannot do without.
 *
 * @param unknown what is not known without it, e.g. `what to plan`.
 * @returns its name or file.
 * @throws Error if none is named.
 */
export function neededStack(given: Given, unknown: string): string {
  const stack = valueOf(given, "stack") ?? selectedStack(given.environment)?.name;
  if (stack !== undefined) return stack;
  throw new Error(
    `--stack: is missing, and Pulumi has no stack selected here, so it is not known ${unknown}; give a stack's name or its file, or run \`pulumi stack select\``,
  );
}

/**
 * The plan of the stack that a verb compares with, if there is one. One that is not named here is no reason to fail:
 * its flaws are remarks.
 */
export function planToCompare(given: Given, output: Output): Plan | undefined {
  const named = valueOf(given, "stack");
  if (named !== undefined) return planOfStack(named);
  const selected = selectedStack(given.environment);
  const file = selected && localFile(selected.name);
  if (file === undefined) return undefined;
  try {
    const plan = planOfStack(file);
    output.remark(`Compared with ${file}, as ${selected!.by}; --stack names another.`);
    return plan;
  } catch (error) {
    output.remark(
      `Not compared with ${file}, although ${selected!.by}: ${(error as Error).message}`,
    );
    return undefined;
  }
}

/** Path of a stack's file. Throws an Error that says where it was looked for, and what there is. */
export function stackFileOf(nameOrFile: string): string {
  const ofClone = path.join(stacksDir, `Pulumi.${nameOrFile}.yaml`);
  const file = localFile(nameOrFile) ?? [nameOrFile, ofClone].find((each) => fs.existsSync(each));
  if (file !== undefined) return file;
  if (/\.ya?ml$/.test(nameOrFile) || /^\.|\\|^\/|\/$/.test(nameOrFile)) readStackFile(nameOrFile); // says that there is no such file
  const name = withoutOwner(nameOrFile);
  const places = [...new Set(placesOf(name).map((place) => path.dirname(place)))];
  const there = [...new Set(places.flatMap(namesIn))].sort();
  throw new Error(
    `--stack: there is no stack ${nameOrFile} (looked for ${placesOf(name).join(", ")}), so nothing is known of it; take ${[...there, "the path of a stack file"].join(", or ")}, or write its file: npx talos-gpu discover --stack ${name}`,
  );
}

/** Names of the stacks that have a file in a folder. */
function namesIn(folder: string): string[] {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  return files.filter((file) => /^Pulumi\..+\.ya?ml$/.test(file)).map(stackNameOf);
}

/**
 * Where the file of a stack is looked for: where Pulumi does, so that both mean the same one, then where one works.
 *
 * @param stack its name, which may begin with `organization/project/`.
 */
export function placesOf(stack: string): string[] {
  const name = withoutOwner(stack);
  const folders = [stackFolderOf(".") ?? ".", ".", "stacks"];
  return [...new Set(folders.map((folder) => path.join(folder, `Pulumi.${name}.yaml`)))];
}

/**
 * Folder for the file of a new stack: the one where Pulumi looks for it. Outside of a project: `stacks`, if it
 * exists, or the current one.
 */
export function placeOf(stack: string): string {
  const folder = stackFolderOf(".") ?? (fs.existsSync("stacks") ? "stacks" : ".");
  return path.join(folder, `Pulumi.${withoutOwner(stack)}.yaml`);
}

/** A stack's file at the place of Pulumi or of the user. */
const localFile = (name: string): string | undefined =>
  placesOf(name).find((file) => fs.existsSync(file));

/**
 * How a command names a stack, given its file: by its name where that leads to the file, and not at all where Pulumi
 * has it selected.
 */
export function stackOption(file: string, environment: NodeJS.ProcessEnv): string {
  const name = stackNameOf(file);
  const found = localFile(name);
  if (found === undefined || path.resolve(found) !== path.resolve(file)) return ` --stack ${file}`;
  return selectedStack(environment)?.name === name ? "" : ` --stack ${name}`;
}
