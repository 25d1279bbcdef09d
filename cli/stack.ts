import * as fs from "node:fs";
import * as path from "node:path";
import { type Plan, InvalidStackError, findingsOf, parseSpec, planCluster } from "../components/recipe/index";
import { readStackFile } from "../stacks/stack-file";

/**
 * The plan of a stack.
 *
 * @param nameOrFile of the stack; a name is looked for where one works, then among the stacks of this repository.
 * @throws Error when there is no such stack, or when its shape is wrong.
 */
export function planOfStack(nameOrFile: string): Plan {
  const here = [".", "stacks"].map((folder) => path.join(folder, `Pulumi.${nameOrFile}.yaml`));
  const config = readStackFile(here.find((file) => fs.existsSync(file)) ?? nameOrFile);
  const { spec } = parseSpec(config);
  if (spec === undefined) throw new InvalidStackError(findingsOf(config));
  return planCluster(spec);
}
