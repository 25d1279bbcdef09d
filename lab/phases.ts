import { Listr, ListrLogger, PRESET_TIMER, ProcessOutput } from "listr2";

/** Says what is going on right now; a terminal shows the last line under its phase, a log all of them. */
export type Say = (line: string) => void;

/** One step of a run. */
export interface Phase<Context> {
  /** What it does, in the words of a user. */
  title: string;
  /** Does it; what it returns is shown beside the title when it is done. */
  run(context: Context, say: Say): Promise<string | void>;
}

/**
 * Runs phases one after the other and shows them: as a live list on a terminal, as plain lines elsewhere. All of it goes
 * to standard error, since standard output belongs to the result.
 *
 * @throws whatever the failing phase throws; the later ones do not run.
 */
export async function runPhases<Context>(phases: Phase<Context>[], context: Context): Promise<void> {
  if (process.stderr.isTTY) await runOnTerminal(phases, context);
  else await runAsLines(phases, context);
}

async function runOnTerminal<Context>(phases: Phase<Context>[], context: Context): Promise<void> {
  // ProcessOutput(stdout, stderr): both to standard error.
  const logger = new ListrLogger({ processOutput: new ProcessOutput(process.stderr, process.stderr) });
  const list = new Listr(
    phases.map((phase) => ({
      title: phase.title,
      task: async (_: unknown, task: { title: string; output: string }) => {
        const detail = await phase.run(context, (line) => (task.output = line));
        if (detail) task.title = `${phase.title}: ${detail}`;
      },
    })),
    {
      registerSignalListeners: false,
      renderer: "default",
      rendererOptions: { logger, timer: { ...PRESET_TIMER, field: seconds } },
    },
  );
  await list.run();
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

async function runAsLines<Context>(phases: Phase<Context>[], context: Context): Promise<void> {
  for (const phase of phases) {
    const begin = performance.now();
    const took = (): string => `[${seconds(performance.now() - begin)}]`;
    console.error(`· ${phase.title}`);
    try {
      const detail = await phase.run(context, (line) => console.error(`    ${line}`));
      console.error(`✔ ${phase.title}${detail ? `: ${detail}` : ""} ${took()}`);
    } catch (error) {
      console.error(`✖ ${phase.title} ${took()}`);
      throw error;
    }
  }
}
