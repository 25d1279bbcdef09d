import { execFile } from "node:child_process";
import * as path from "node:path";
import { promisify } from "node:util";
import type { ProgramName } from "./programs";
import type { Measured } from "./register";
import { type Spread, spreadOf } from "./statistics";

/** Programs that are measured side by side. */
type Compared = Exclude<ProgramName, "again">;

/** Cost of registering a cluster of some size: the component's against the handwritten program's. */
export interface Registration {
  machines: number;
  /** CPU seconds, which other work on the computer does not lengthen; a program waits for nothing on a mock monitor. */
  component: Spread;
  handwritten: Spread;
  /** CPU time of the component over that of the handwritten program, round by round. */
  ratio: Spread;
  /** The same of the time by the clock, which other work on the computer lengthens. */
  wallRatio: Spread;
  /** Most resident memory above that after ten machines, in MiB. */
  componentMiB: Spread;
  handwrittenMiB: Spread;
}

/**
 * Measures both programs side by side: a round runs one after the other, every second round in the opposite order, each in
 * a process of its own.
 */
export async function measureRegistration(machines: number, rounds: number): Promise<Registration> {
  const measured: Record<Compared, Measured[]> = { component: [], handwritten: [] };
  for (let round = 0; round < rounds; round++) {
    const order: Compared[] = round % 2 === 0 ? ["component", "handwritten"] : ["handwritten", "component"];
    for (const program of order) measured[program].push(await measure(program, machines));
  }
  const of = (program: Compared, what: keyof Measured): Spread => spreadOf(measured[program].map((one) => one[what]));
  const ratioOf = (what: keyof Measured): Spread =>
    spreadOf(measured.component.map((one, round) => one[what] / measured.handwritten[round]![what]));
  return {
    machines,
    component: of("component", "seconds"),
    handwritten: of("handwritten", "seconds"),
    ratio: ratioOf("seconds"),
    wallRatio: ratioOf("wallSeconds"),
    componentMiB: of("component", "mebibytes"),
    handwrittenMiB: of("handwritten", "mebibytes"),
  };
}

const run = promisify(execFile);

async function measure(program: ProgramName, machines: number): Promise<Measured> {
  // Compiled, as the package is published: a loader that maps TypeScript's lines does so for each of the stacks that the SDK
  // takes of every promise, and would be most of what is measured.
  const args = [
    path.join(__dirname, "../lab/bundle/run.js"),
    path.join(__dirname, "register.ts"),
    program,
    String(machines),
  ];
  const { stdout } = await run(process.execPath, args);
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as Measured;
}
