/** Options that npm has too: their values may be meant for npm, or come from the user's configuration of npm. */
const ofNpm = new Set(["force", "json", "help", "color", "no-color"]);

/**
 * Message for an option that npm read as its own; undefined if npm read none. From `npm run plan --stack mine` the
 * program gets only `mine`. npm sets an environment variable for each option before `--`, and another one with the
 * script's name (npm, docs "scripts", Environment).
 *
 * @param options names of the program's options.
 */
export function swallowedByNpm(
  options: readonly string[],
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): string | undefined {
  const script = environment["npm_lifecycle_event"];
  if (script === undefined) return undefined;
  const swallowedOptions = options.flatMap((name): string[] => {
    const value = ofNpm.has(name)
      ? undefined
      : environment[`npm_config_${name.replaceAll("-", "_")}`];
    return value === undefined
      ? []
      : [`--${name}${value === "true" || value === "" ? "" : ` ${value}`}`];
  });
  if (swallowedOptions.length === 0) return undefined;
  const [first = ""] = swallowedOptions;
  const name = first.split(" ")[0]!;
  return `${name}: npm read this option as its own, and passes on only the arguments after \`--\`; write \`npm run ${script} -- ${[...swallowedOptions, ...argv].join(" ")}\``;
}
