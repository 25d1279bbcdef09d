import * as fs from "node:fs";
import * as path from "node:path";
import { type Plan, InvalidStackError, judge } from "../components/recipe/index";
import { readStackFile, stackNameOf, stacksDir } from "../stacks/stack-file";
import { selectedStack, withoutOwner } from "./selected-stack";
import { stackFolderOf } from "./stack-folder";
import { type ParsedArgs, type Output, valueOf } from "./verb";

/**
 * The plan of a stack.
 *
 * @param nameOrFile name or file of the stack. `stackFileOf` finds the file that belongs to a name.
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
 * The stack of a verb that needs one.
 *
 * @param purpose what is unknown without a stack, e.g. `what to plan`.
 * @returns its name or file.
 * @throws Error if none is named.
 */
export function neededStack(args: ParsedArgs, purpose: string): string {
  const stack = valueOf(args, "stack") ?? selectedStack(args.environment)?.name;
  if (stack !== undefined) return stack;
  throw new Error(
    `--stack: is missing, and Pulumi has no stack selected here, so it is unknown ${purpose}; give a stack's name or its file, or run \`pulumi stack select\``,
  );
}

/**
 * The plan with which a verb compares the cluster, if any. If the user did not name the stack, Pulumi's selected stack
 * is used, and its mistakes are only remarks.
 */
export function planToCompare(args: ParsedArgs, output: Output): Plan | undefined {
  const statedStack = valueOf(args, "stack");
  if (statedStack !== undefined) return planOfStack(statedStack);
  const selected = selectedStack(args.environment);
  const file = selected && localFile(selected.name);
  if (file === undefined) return undefined;
  try {
    const plan = planOfStack(file);
    output.remark(
      `Compared with ${file}, because ${selected!.reason}; use --stack to name another stack.`,
    );
    return plan;
  } catch (error) {
    output.remark(
      `Not compared with ${file}, although ${selected!.reason}: ${(error as Error).message}`,
    );
    return undefined;
  }
}

/**
 * Path of a stack's file: one of `placesOf`, else the given path, else a file among the stacks of this repository.
 * Throws an Error that names the searched places and the existing stacks.
 */
export function stackFileOf(nameOrFile: string): string {
  const ofClone = path.join(stacksDir, `Pulumi.${nameOrFile}.yaml`);
  const file =
    localFile(nameOrFile) ?? [nameOrFile, ofClone].find((candidate) => fs.existsSync(candidate));
  if (file !== undefined) return file;
  if (/\.ya?ml$/.test(nameOrFile) || /^\.|\\|^\/|\/$/.test(nameOrFile)) readStackFile(nameOrFile); // throws if the file does not exist
  const name = withoutOwner(nameOrFile);
  const places = [...new Set(placesOf(name).map((place) => path.dirname(place)))];
  const existingNames = [...new Set(places.flatMap(namesIn))].sort();
  throw new Error(
    `--stack: there is no stack ${nameOrFile} (searched: ${placesOf(name).join(", ")}); name ${[...existingNames, "the path of a stack file"].join(", or ")}, or write its file: npx talos-gpu discover --stack ${name}`,
  );
}

/** Names of the stacks that have a file in a folder. */
function namesIn(folder: string): string[] {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  return files.filter((file) => /^Pulumi\..+\.ya?ml$/.test(file)).map(stackNameOf);
}

/**
 * Paths at which the file of a stack is searched. The folder from which Pulumi reads stack files comes first, so that
 * Pulumi and this command use the same stack. Then come the current folder and `stacks`.
 *
 * @param stack its name, which may begin with `organization/project/`.
 */
export function placesOf(stack: string): string[] {
  const name = withoutOwner(stack);
  const folders = [stackFolderOf(".") ?? ".", ".", "stacks"];
  return [...new Set(folders.map((folder) => path.join(folder, `Pulumi.${name}.yaml`)))];
}

/**
 * Path for the file of a new stack, in the folder from which Pulumi reads stack files. Outside of a Pulumi project,
 * this is the folder `stacks` if it exists, else the current folder.
 */
export function placeOf(stack: string): string {
  const folder = stackFolderOf(".") ?? (fs.existsSync("stacks") ? "stacks" : ".");
  return path.join(folder, `Pulumi.${withoutOwner(stack)}.yaml`);
}

/** The first existing file of a stack among `placesOf`. */
const localFile = (name: string): string | undefined =>
  placesOf(name).find((file) => fs.existsSync(file));

/**
 * The option by which a command names the stack of a file. The option has the stack's name if the name leads to the
 * file, else the file's path. Empty if the name leads to the file and Pulumi has this stack selected.
 */
export function stackOption(file: string, environment: NodeJS.ProcessEnv): string {
  const name = stackNameOf(file);
  const localStackFile = localFile(name);
  if (localStackFile === undefined || path.resolve(localStackFile) !== path.resolve(file))
    return ` --stack ${file}`;
  return selectedStack(environment)?.name === name ? "" : ` --stack ${name}`;
}
