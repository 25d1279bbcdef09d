import * as fs from "node:fs";
import * as os from "node:os";
import { foreignCredentials } from "../clients/certificates";
import { CallError, Failure, isTransient } from "../clients/failure";
import { inLine, printable } from "../recipe/rules/printable";
import { redact } from "../recipe/rules/redact";
import { Clients } from "./clients";
import { Credentials } from "./credentials";
import { endWithPulumi, pulumiAbove } from "./orphan";
import { BoundedProgress } from "./progress";
import { verbs } from "./verbs";

/**
 * The machine program, which `@pulumi/command` starts. It reads its task as JSON from standard input, and prints
 * progress on standard error. The answer is one line of JSON on standard output. It reads credentials from
 * TALOS_GPU_TALOSCONFIG and TALOS_GPU_KUBECONFIG (contents), else from TALOSCONFIG and KUBECONFIG (paths). For Omni it
 * reads TALOS_GPU_OMNI_ENDPOINT and TALOS_GPU_OMNI_SERVICE_ACCOUNT_KEY, else OMNI_ENDPOINT and
 * OMNI_SERVICE_ACCOUNT_KEY. It runs the programs in TALOS_GPU_TALOSCTL and TALOS_GPU_OMNICTL, else talosctl and omnictl
 * from PATH. talosctl connects to TALOS_GPU_ENDPOINT, else to the talosconfig's endpoints.
 */
async function main(name = ""): Promise<void> {
  const input = fs.readFileSync(0, "utf8");
  const credentials = new Credentials();
  let isTouched = false;
  const write = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };
  const progress = new BoundedProgress(write);
  const clean = (text: string): string => redact(text, credentials.secrets);
  // Pulumi prints the lines unchanged, and they contain names and messages of machines and pods.
  const report = (line: string): void => progress.report(shortenLines(inLine(clean(line))));
  // A stream fails if its reader is gone; the program still finishes what it has begun.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const isAwaited = pulumiAbove();
  const clients = new Clients(credentials, report, isAwaited, () => void (isTouched = true));
  endWith(() => clients.close());

  try {
    const verb = verbs.get(name);
    if (verb === undefined)
      throw new Error(`verb ${JSON.stringify(name)} is not one of ${[...verbs.keys()].join(", ")}`);
    endWithPulumi(
      isAwaited,
      () => verb.mayEnd && !isTouched,
      () => {
        report(`${name}: Pulumi has ended, so the program ends as well; it had changed nothing`);
        process.exit(1);
      },
    );
    process.stdout.write(`${JSON.stringify(await verb.run(input, clients))}\n`);
  } catch (error) {
    // Pulumi stores nothing about a failed run, so the error is printed in full.
    write(shortenLines(printable(clean(describe(error, fieldOf(name, input))))));
    process.exitCode = 1;
  }
}

/**
 * Shortens long lines, so that Pulumi can read them. Pulumi's command provider reads with Go's bufio.Scanner, which
 * stops at a line of 64 KiB. The program's next write would then block forever, and Pulumi would wait for the program
 * forever (pulumi-command, provider/pkg/provider/util, LogOutput).
 */
function shortenLines(text: string): string {
  const longest = 8_000;
  const cut = (line: string): string =>
    line.length > longest ? `${line.slice(0, longest)} …` : line;
  return text.split("\n").map(cut).join("\n");
}

/** Ends the child processes and removes the files, however the program ends. */
function endWith(close: () => void): void {
  process.once("exit", close);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => process.exit(128 + os.constants.signals[signal]));
}

/**
 * Field for findings of a task: the task's machine, or the verb if the task has several machines, as `preflight` and
 * `gate` have.
 */
function fieldOf(verb: string | undefined, input: string): string {
  try {
    const { machine } = JSON.parse(input) as { machine?: unknown };
    if (typeof machine === "string") return `machines.${machine}`;
  } catch {
    // The error itself says what is wrong with the task.
  }
  return verb ?? "program";
}

/**
 * Text of an error that no other code has handled. It may be a call without an answer, or a refusal that a retry cannot
 * change, e.g. because of wrong credentials.
 */
function describe(error: unknown, field: string): string {
  if (!(error instanceof CallError)) return error instanceof Error ? error.message : String(error);
  if (isTransient(error))
    return new Failure({
      field,
      problem: `${error.message}, also after a retry`,
      why: "the program cannot go on without an answer",
      remedy:
        "run again once the called machine or server answers: the program continues from the state that it finds",
    }).message;
  const foreign = foreignCredentials(error.message);
  if (foreign !== undefined) return new Failure(foreign).message;
  return new Failure({
    field,
    problem: error.message,
    why: "the program cannot go on",
    remedy:
      "check the credentials (talosconfig, kubeconfig, OMNI_ENDPOINT and OMNI_SERVICE_ACCOUNT_KEY) and the client (talosctl or omnictl), then run again: the program continues from the state that it finds",
  }).message;
}

void main(process.argv.at(-1));
