import { Listr, ListrLogger, PRESET_TIMER, ProcessOutput } from "listr2";

/** Says what is going on right now; a terminal shows the last line under its phase, a log all of them. */
export type Say = (line: string) => void;

/** A phase that came to a bad end which is not an error of the run: shown as failed, and the run goes on. */
export class Failed {
  constructor(readonly detail: string) {}
}

/** One step of a run. */
export interface Phase<Context> {
  /** What it does, in the words of a user. */
  title: string;
  /** Does it; what it returns is shown beside the title when it is done. */
  run(context: Context, say: Say): Promise<string | void | Failed>;
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
  let thrown: { error: unknown } | undefined;
  const list = new Listr(
    phases.map((phase) => ({
      title: phase.title,
      skip: () => thrown !== undefined,
      task: async (_: unknown, task: { title: string; output: string }) => {
        const say = (line: string): void => void (task.output = line);
        const outcome = await phase.run(context, say).catch((error: unknown) => {
          thrown = { error };
          return new Failed("");
        });
        const detail = outcome instanceof Failed ? outcome.detail : outcome;
        if (detail) task.title = `${phase.title}: ${detail}`;
        if (outcome instanceof Failed) throw new Error(task.title); // this is how a list shows that a task failed
      },
    })),
    {
      registerSignalListeners: false,
      exitOnError: false,
      renderer: "default",
      rendererOptions: { logger, showErrorMessage: false, timer: { ...PRESET_TIMER, field: seconds } },
    },
  );
  await list.run();
  if (thrown !== undefined) throw thrown.error;
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

async function runAsLines<Context>(phases: Phase<Context>[], context: Context): Promise<void> {
  for (const phase of phases) {
    const begin = performance.now();
    const say = (line: string): void => console.error(`    ${line}`);
    const end = (mark: string, detail: string): void =>
      console.error(`${mark} ${phase.title}${detail && `: ${detail}`} [${seconds(performance.now() - begin)}]`);
    console.error(`· ${phase.title}`);
    const outcome = await phase.run(context, say).catch((error: unknown) => {
      end("✖", "");
      throw error;
    });
    if (outcome instanceof Failed) end("✖", outcome.detail);
    else end("✔", outcome ?? "");
  }
}
