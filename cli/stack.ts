import * as fs from "node:fs";
import * as path from "node:path";
import { type Plan, InvalidStackError, judge } from "../components/recipe/index";
import { readStackFile, stacksDir } from "../stacks/stack-file";
import { stackFolderOf } from "./stack-folder";

/**
 * The plan of a stack.
 *
 * @param nameOrFile of the stack; a name is looked for where one works, then among the stacks of this repository.
 * @throws Error when there is no such stack, or when its shape is wrong.
 */
export function planOfStack(nameOrFile: string): Plan {
  const config = readStackFile(localFile(nameOrFile) ?? nameOrFile);
  const { plan, findings } = judge(config);
  if (plan === undefined) throw new InvalidStackError(findings);
  return plan;
}

/** Path of a stack's file. Errors: as `planOfStack`, where there is no such stack. */
export function stackFileOf(nameOrFile: string): string {
  const file = localFile(nameOrFile) ?? (fs.existsSync(nameOrFile) ? nameOrFile : undefined);
  if (file !== undefined) return file;
  readStackFile(nameOrFile); // says what there is, or finds it among the stacks of this repository
  return path.join(stacksDir, `Pulumi.${nameOrFile}.yaml`);
}

/** Where the file of a stack is looked for: where one works, then where Pulumi itself looks. */
export function placesOf(name: string): string[] {
  const folders = [".", "stacks", stackFolderOf(".") ?? "."];
  return [...new Set(folders.map((folder) => path.join(folder, `Pulumi.${name}.yaml`)))];
}

/** A stack's file where one works. */
const localFile = (name: string): string | undefined => placesOf(name).find((file) => fs.existsSync(file));
