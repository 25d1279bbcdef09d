/**
 * How far an update is with a machine. `skipped`: nothing of it had to change. `under way`: something of it began, and ends by
 * itself even where another machine has failed.
 */
export type Progress = "done" | "skipped" | "under way" | "failed" | "not started";

/** Where a machine stands. */
export interface Standing {
  progress: Progress;
  /** Its node takes no pods, since the update cordoned it and did not come to its end. */
  cordoned?: boolean;
}

const words: Progress[] = ["failed", "under way", "not started", "done", "skipped"];

/** Names that a line has at most: a fleet's would fill the screen. */
const most = 20;

/**
 * What became of each machine, in a line for each word; the machines of a line in the order of the update.
 *
 * @param machines by node name, in the order of the update.
 */
export function describeProgress(machines: Map<string, Standing>): string {
  const all = [...machines];
  const line = (word: string, names: string[]): string[] => {
    const more = names.length > most ? ` and ${names.length - most} more` : "";
    return names.length === 0 ? [] : [`  ${word} (${names.length}): ${names.slice(0, most).join(", ")}${more}`];
  };
  const named = (is: (standing: Standing) => boolean): string[] =>
    all.filter(([, standing]) => is(standing)).map(([name]) => name);
  return [
    "Of the machines are now",
    ...words.flatMap((word) =>
      line(
        word,
        named(({ progress }) => progress === word),
      ),
    ),
    ...line(
      "cordoned, until an update ends well or `kubectl uncordon`",
      named(({ cordoned }) => cordoned === true),
    ),
  ].join("\n");
}
