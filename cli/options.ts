import { parseArgs } from "node:util";
import { swallowedByNpm } from "./swallowed";
import type { ParsedArgs, Option, Verb } from "./verb";

/** Options that every verb has. */
const everywhere: Record<string, Option> = {
  json: { help: "one JSON object on standard output" },
  "no-color": { help: "no colours (as with NO_COLOR, or if the output is not a terminal)" },
  help: { help: "shows this help" },
};

/** An error in an option or argument, which the user must correct. */
export class UsageError extends Error {}

/**
 * Options and arguments of a verb.
 *
 * @throws UsageError with a message for the user.
 */
export function parseOptions(
  name: string,
  verb: Verb,
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): ParsedArgs {
  const options = Object.fromEntries(
    Object.entries({ ...verb.options, ...everywhere }).map(([option, { value }]) => [
      option,
      value === undefined
        ? { type: "boolean" as const, ...(option === "help" ? { short: "h" } : {}) }
        : { type: "string" as const, multiple: true as const },
    ]),
  );
  const swallowed = swallowedByNpm(Object.keys(options), argv, environment);
  if (swallowed !== undefined) throw new UsageError(swallowed);
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...argv], options, allowPositionals: verb.argument !== undefined });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; see \`npx talos-gpu ${name} --help\``);
  }
  const entries = Object.entries(parsed.values);
  const values = Object.fromEntries(
    entries.filter((entry): entry is [string, string[]] => Array.isArray(entry[1])),
  );
  const empty = Object.entries(values).find(([, texts]) => texts.includes(""));
  if (empty) throw new UsageError(`--${empty[0]}: is empty; give it a value, or leave it out`);
  const switches = new Set(entries.filter(([, value]) => value === true).map(([option]) => option));
  const { positionals } = parsed;
  const wrong = verb.argument?.several ? positionals.length === 0 : positionals.length !== 1;
  if (!switches.has("help") && verb.argument && wrong)
    throw new UsageError(
      `needs ${verb.argument.several ? "at least one" : "one"} ${verb.argument.name}, but ${positionals.length} are given; see \`npx talos-gpu ${name} --help\``,
    );
  return { values, switches, positionals, environment };
}

/** Text of `talos-gpu VERB --help`. */
export function helpOf(name: string, verb: Verb): string {
  const argument =
    verb.argument === undefined ? "" : ` ${verb.argument.name}${verb.argument.several ? "…" : ""}`;
  const options = Object.entries({ ...verb.options, ...everywhere }).map(
    ([option, { value, help }]): [string, string] => [
      `--${option}${value === undefined ? "" : ` ${value}`}`,
      help,
    ],
  );
  return `talos-gpu ${name}${argument} [options]     ${verb.summary}

${columns(options)}
${verb.more === undefined ? "" : `\n${verb.more}`}${statuses}`;
}

/** Text of `talos-gpu --help`. */
export function helpOfAll(verbs: Record<string, Verb>): string {
  const all = Object.entries(verbs).map(([name, { summary }]): [string, string] => [name, summary]);
  return `talos-gpu VERB [options]     NVIDIA GPUs on Talos Linux

${columns(all)}

talos-gpu VERB --help describes one verb; talos-gpu --version prints the version.
${statuses}`;
}

const statuses =
  "\nExit status: 0 success, nothing found; 1 something was found; 2 the command failed, or could not read everything.\n";

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([term]) => term.length)) + 2;
  return rows.map(([term, explanation]) => `  ${term.padEnd(width)}${explanation}`).join("\n");
}
