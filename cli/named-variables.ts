import type { Given, Option } from "./verb";

/** The option that names them. */
export const envOption: Option = {
  value: "NAME",
  help: "variable of the environment that fills in a talconfig.yaml or a template of topf's; its value may be in what is written; may be repeated",
};

/**
 * The variables of the environment that the user names. No others fill in a talconfig.yaml or a template: these may be a stranger's, and
 * their results are in annotations, logs and stack files that other people read.
 */
export function variablesNamed({ values, environment }: Given): NodeJS.ProcessEnv {
  const names = values["env"] ?? [];
  const unset = names.filter((name) => environment[name] === undefined);
  if (unset.length > 0)
    throw new Error(
      `--env: ${unset.join(", ")} is not set, so it fills in nothing; export it, or take another name`,
    );
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
