#!/usr/bin/env node
import { version } from "../components/package.json";
import { whenHeld } from "../components/clients/held";
import { Failure } from "../components/clients/failure";
import { InvalidStackError, renderFinding } from "../components/recipe/index";
import { inLine } from "../components/recipe/rules/printable";
import { endAll } from "../components/clients/process-groups";
import { helpOf, helpOfAll, parseOptions, UsageError } from "./options";
import { printingTo } from "./printed";
import { terminalOf } from "./terminal/terminal";
import { type Output, SeveralFaults } from "./verb";
import { verbs } from "./verbs";

/** Runs one verb, and returns the exit status. */
async function main([name, ...argv]: readonly string[], output: Output): Promise<number> {
  const printText = (text: string): number => {
    output.result(text);
    return 0;
  };
  if (name === undefined) {
    output.remark(helpOfAll(verbs));
    return 2;
  }
  if (name === "--version") return printText(`${version}\n`);
  if (["--help", "-h", "help"].includes(name)) return printText(helpOfAll(verbs));
  const verb = Object.hasOwn(verbs, name) ? verbs[name]! : undefined;
  if (verb === undefined)
    throw new UsageError(`${name}: is no verb; write one of ${Object.keys(verbs).join(", ")}`);
  const parsed = parseOptions(name, verb, argv, process.env);
  if (parsed.switches.has("help")) return printText(helpOf(name, verb));
  return verb.run(parsed, { ...output, colour: output.colour && !parsed.switches.has("no-color") });
}

/**
 * Messages of the error that ended the command, each on one line and escaped, since they may contain names from files.
 */
function messageOf(error: unknown): string {
  if (error instanceof InvalidStackError) return error.message;
  if (error instanceof SeveralFaults) return error.faults.map(inLine).join("\n");
  if (error instanceof Failure) return error.findings.map(renderFinding).map(inLine).join("\n");
  return inLine(error instanceof Error ? error.message : String(error));
}

/** Ends the process once everything is written, even if a socket or a timer is still open. */
function end(status: number): void {
  endAll();
  process.stdout.write("", () => process.stderr.write("", () => process.exit(status)));
}

whenHeld(() => {
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15, SIGHUP: 1 }))
    process.on(signal, () => {
      endAll();
      process.exit(128 + number);
    });
});
// The program that read the output has ended, so nothing more can be written.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", () => {
    endAll();
    process.exit(2);
  });

const terminal = terminalOf(process.stdout, process.env);
const output = printingTo({
  result: (text) => void process.stdout.write(text),
  remark: (text) => void process.stderr.write(text.endsWith("\n") ? text : `${text}\n`),
  colour: terminal?.colour ?? false,
  columns: terminal?.columns,
});

main(process.argv.slice(2), output).then(end, (error: unknown) => {
  output.remark(messageOf(error));
  end(2);
});
