import { execFile } from "node:child_process";
import * as path from "node:path";
import { promisify } from "node:util";
import { bundle } from "../lab/bundle/bundle";
import { repository } from "../stacks/stack-file";
import type { Comparison } from "./comparisons";
import type { Measured } from "./measured";
import { type Spread, spreadOf } from "./statistics";

/**
 * A figure of the subject and of its baseline, and their ratio in each round. The names are those of `--json`.
 */
export interface ComparedFigure {
  subject: Spread;
  baseline: Spread;
  ratio: Spread;
}

/** Result of a comparison. */
export interface Result {
  id: string;
  title: string;
  baseline: string;
  /** CPU seconds. */
  cpu: ComparedFigure;
  /** The process' maximum memory in MiB; absent if the comparison does not compare memory. */
  memory?: ComparedFigure;
}

/** One round: the subject and its baseline, measured one after the other. */
export interface Round {
  subject: Measured;
  baseline: Measured;
}

/**
 * Measures a subject and its baseline. Every second round begins with the baseline. Each run is a process of its own.
 */
export async function compare(comparison: Comparison, rounds: number): Promise<Result> {
  const { subjectCommand, baselineCommand } = comparison;
  for (const [program] of [subjectCommand, baselineCommand]) await bundle(fileOf(program!)); // makes the bundles before the measurement
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const subject = await runSubject(subjectCommand);
      measured.push({ subject, baseline: await runSubject(baselineCommand) });
    } else {
      const baseline = await runSubject(baselineCommand);
      measured.push({ subject: await runSubject(subjectCommand), baseline });
    }
  }
  return resultOf(comparison, measured);
}

/** The result of all rounds of a comparison. */
export function resultOf(
  { id, title, baseline, memory }: Comparison,
  rounds: readonly Round[],
): Result {
  const cpu = compareFigure(rounds, "seconds");
  const result: Result = { id, title, baseline, cpu };
  if (memory) result.memory = compareFigure(rounds, "mebibytes");
  return result;
}

function compareFigure(rounds: readonly Round[], figure: keyof Measured): ComparedFigure {
  return {
    subject: spreadOf(rounds.map(({ subject }) => subject[figure])),
    baseline: spreadOf(rounds.map(({ baseline }) => baseline[figure])),
    ratio: spreadOf(rounds.map(({ subject, baseline }) => subject[figure] / baseline[figure])),
  };
}

const fileOf = (program: string): string => path.join(__dirname, "subjects", `${program}.ts`);

const execute = promisify(execFile);

/** A subject runs compiled and loads all of Pulumi's SDK, as the published package does in a user's program. */
async function runSubject([program, ...args]: readonly string[]): Promise<Measured> {
  // Node would otherwise read further certificates at each start, although no subject connects to a server.
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const runner = path.join(repository, "lab/bundle/run.js");
  const { stdout } = await execute(
    process.execPath,
    [runner, "--whole-sdk", fileOf(program!), ...args],
    {
      cwd: repository,
      env: environment,
      timeout: 300_000,
    },
  );
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as Measured;
}
