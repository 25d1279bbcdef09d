import type { ParsedArgs, Option } from "./verb";

/** The option `--env`. */
export const envOption: Option = {
  value: "NAME",
  help: "environment variable that a talconfig.yaml or a template of topf uses; the output may contain the variable's value; may be repeated",
};

/**
 * The environment variables that the user names. No other environment variable fills in a talconfig.yaml or a template.
 * A stranger may have written such a file, and the values appear in annotations, logs and stack files that other people
 * read.
 */
export function variablesNamed({ values, environment }: ParsedArgs): NodeJS.ProcessEnv {
  const names = values["env"] ?? [];
  const unset = names.filter((name) => environment[name] === undefined);
  if (unset.length > 0)
    throw new Error(
      `--env: ${unset.join(", ")} is not set in the environment; export it, or name another variable`,
    );
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
