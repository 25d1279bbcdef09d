import { type Show, showOnStandardError } from "./show";

/** Prints a line about the present action. */
export type Say = Show["say"];

/** Result of a phase that failed, while the run continues: the phase is shown as failed. */
export class Failed {
  constructor(readonly detail: string) {}
}

/** One step of a run. */
export interface Phase<Context> {
  /** The step's purpose, in the words of a user. */
  title: string;
  /** Runs the step. The result is shown after the title. */
  run(context: Context, say: Say): Promise<string | void | Failed>;
}

/** Output that shows the phases of a context. Default: standard error, without details. */
interface WithShow {
  show?: Show | undefined;
}

/** Runs phases in order and shows them. If a phase throws, this throws the same error, and later phases do not run. */
export async function runPhases<Context extends object>(
  phases: Phase<Context>[],
  context: Context & WithShow,
): Promise<void> {
  const { show = showOnStandardError() } = context;
  for (const { title, run } of phases) {
    const begin = performance.now();
    const end = (ok: boolean, detail: string): void =>
      show.end({ title, ok, detail, seconds: (performance.now() - begin) / 1000 });
    show.begin(title);
    const outcome = await run(context, show.say).catch((error: unknown) => {
      end(false, "");
      throw error;
    });
    if (outcome instanceof Failed) end(false, outcome.detail);
    else end(true, outcome ?? "");
  }
}
