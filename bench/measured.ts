/** What a subject's process took, and prints as its last line. */
export interface Measured {
  /** CPU time, the process's own and the kernel's for it. Other work on the computer hardly lengthens it. */
  seconds: number;
  /** The most memory that the process held. */
  mebibytes: number;
}

/** Does the work, and prints what it took. What was done before it, such as loading and preparing, does not count as time. */
export async function measure(work: () => unknown): Promise<void> {
  const begin = process.cpuUsage();
  await work();
  print(process.cpuUsage(begin));
}

/** Does the work, and prints what the process took since it started: loading counts. */
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
