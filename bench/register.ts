import { type ProgramName, programs, register } from "./programs";

/** What one registration took. */
export interface Measured {
  /** CPU time of the process, its own and the kernel's for it. */
  seconds: number;
  /** Time by the clock. */
  wallSeconds: number;
  /** Most memory that the process held, above what it held before. */
  mebibytes: number;
}

/** `register.ts PROGRAM COUNT`: registers once and prints `Measured`; a process of its own, since its peak is what is asked. */
async function main(program: string, count: number): Promise<void> {
  if (!(program in programs)) throw new Error(`program ${program}: take one of ${Object.keys(programs).join(", ")}`);
  await register(program as ProgramName, 10); // loads and warms what both programs use
  const peak = (): number => process.resourceUsage().maxRSS / 1024;
  const before = peak();
  const started = performance.now();
  const begin = process.cpuUsage();
  const run = await register(program as ProgramName, count);
  const { user, system } = process.cpuUsage(begin);
  const wallSeconds = (performance.now() - started) / 1_000;
  if (run.resources.length < count * 5) throw new Error(`${program} registered ${run.resources.length} resources only`);
  const measured: Measured = { seconds: (user + system) / 1e6, wallSeconds, mebibytes: peak() - before };
  process.stdout.write(`${JSON.stringify(measured)}\n`);
}

void main(process.argv[2] ?? "", Number(process.argv[3]));
