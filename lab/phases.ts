import { type Show, showOnStandardError } from "./show";

/** Shows the present action in a line. */
export type Say = Show["say"];

/** A phase that failed without an error of the run: it is shown as failed, and the run continues. */
export class Failed {
  constructor(readonly detail: string) {}
}

/** One step of a run. */
export interface Phase<Context> {
  /** Its effect, in the words of a user. */
  title: string;
  /** Does it; its result is shown with the title when it is done. */
  run(context: Context, say: Say): Promise<string | void | Failed>;
}

/** Output that shows the phases of a context. Default: standard error, without details. */
interface Showing {
  show?: Show | undefined;
}

/**
 * Runs phases one after the other and shows them. Where one throws, so does this, and the later ones do not run.
 */
export async function runPhases<Context extends object>(
  phases: Phase<Context>[],
  context: Context & Showing,
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
