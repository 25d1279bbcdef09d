/** Lines of a preview about machines, by node name, e.g. `reboots: no: no reboot is needed for label slot changed`. */
export type PredictedReboots = Record<string, string>;

/** Finds these lines of a preview among the engine's messages. */
export function predictedReboots(diagnostics: readonly string[], stack: string): PredictedReboots {
  const lines = diagnostics.map((line) =>
    /^info (\S+) \(talos-gpu:index:GpuMachine\): (reboots: .*)$/.exec(line),
  );
  return Object.fromEntries(
    lines.flatMap((match): [string, string][] =>
      match ? [[match[1]!.slice(stack.length + 1), match[2]!]] : [],
    ),
  );
}

/**
 * Machines whose reboots differ from the preview. The preview has no line about an unchanged machine, so such a machine
 * must not reboot.
 *
 * @param reboots number of reboots in the update, by node name.
 */
export const wrongPredictions = (
  predictions: PredictedReboots,
  reboots: Record<string, number>,
): string[] =>
  Object.entries(reboots).flatMap(([name, count]) => {
    const prediction = predictions[name] ?? "nothing, which means no reboot";
    const answer = /^reboots: (yes|no|only if)\b/.exec(prediction)?.[1] ?? "no";
    const isCorrect = answer === "only if" || (answer === "yes" ? count > 0 : count === 0);
    return isCorrect
      ? []
      : [`${name}: the preview said ${prediction}, but the machine rebooted ${count} times`];
  });
