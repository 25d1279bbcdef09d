/** Says what is going on right now, in a line. */
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
 * Runs phases one after the other and shows them, on standard error, since standard output belongs to the result. Where one throws, so
 * does this, and the later ones do not run.
 */
export async function runPhases<Context>(
  phases: Phase<Context>[],
  context: Context,
): Promise<void> {
  for (const phase of phases) {
    const begin = performance.now();
    const say = (line: string): void => console.error(`    ${line}`);
    const end = (mark: string, detail: string): void =>
      console.error(
        `${mark} ${phase.title}${detail && `: ${detail}`} [${((performance.now() - begin) / 1000).toFixed(1)} s]`,
      );
    console.error(`· ${phase.title}`);
    const outcome = await phase.run(context, say).catch((error: unknown) => {
      end("✖", "");
      throw error;
    });
    if (outcome instanceof Failed) end("✖", outcome.detail);
    else end("✔", outcome ?? "");
  }
}
