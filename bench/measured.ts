/** Measured values of a subject's process, which it prints as its last line. */
export interface Measured {
  /** CPU time in user and kernel mode. Other work on the computer hardly changes it. */
  seconds: number;
  /** Maximum memory of the process. */
  mebibytes: number;
}

/** Does the work, and prints its CPU time, without the time before it, such as loading and preparing. */
export async function measure(work: () => unknown): Promise<void> {
  const begin = process.cpuUsage();
  await work();
  print(process.cpuUsage(begin));
}

/** Does the work, and prints the CPU time since the process started, including loading. */
export async function measureWholeProcess(work: () => unknown): Promise<void> {
  await work();
  print(process.cpuUsage());
}

function print({ user, system }: NodeJS.CpuUsage): void {
  const measured: Measured = {
    seconds: (user + system) / 1e6,
    mebibytes: process.resourceUsage().maxRSS / 1024,
  };
  process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit());
}
