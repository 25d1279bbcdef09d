import { diffArrays } from "diff";

/** A line of a text, with the blank lines above it. `compactText` is the line without spaces, for comparisons. */
interface Line {
  text: string;
  compactText: string;
  blankLinesBefore: string[];
}

/** The lines of the owner's text that correspond to one line of the YAML writer's text for the same document. */
interface Source {
  /** The owner's lines before `lines` that correspond to no line of the writer's text. */
  extra: Line[];
  lines: Line[];
  /**
   * Indexes of all lines of the writer's text that correspond to `lines`. `lines` stay only if all these lines stay.
   */
  together: number[];
}

/**
 * Applies the changes of a document to the owner's text. Unchanged lines keep their spaces, their indentation and the
 * blank lines above them.
 *
 * @param text document in the owner's notation.
 * @param before the same document in the notation of the YAML writer.
 * @param after the changed document in the notation of the YAML writer.
 */
export function withChanges(text: string, before: string, after: string): string {
  const [original, written, changed] = [text, before, after].map(linesOf) as [Lines, Lines, Lines];
  const { sources, rest: remainingLines } = sourcesOf(original.lines, written.lines);
  const steps = stepsOf(written.lines, changed.lines);
  const keptIndexes = new Set(steps.flatMap((step) => (step.what === "stays" ? step.index : [])));
  const output: string[] = [];
  steps.forEach((step, stepIndex) => {
    const continuesStep = steps[stepIndex - 1]?.what === step.what;
    if (step.what === "comes") {
      const line = changed.lines[step.index]!;
      output.push(...(continuesStep ? line.blankLinesBefore : []), line.text);
      return;
    }
    const { extra, lines, together } = sources[step.index]!;
    for (const line of extra) output.push(...line.blankLinesBefore, line.text);
    if (step.what === "goes") {
      // Blank lines within the removed lines are removed too, and those above them stay.
      output.push(...(continuesStep ? [] : (lines[0]?.blankLinesBefore ?? [])));
      return;
    }
    const isWholeGroup = together.every((index) => keptIndexes.has(index));
    for (const line of isWholeGroup ? lines : [written.lines[step.index]!])
      output.push(...line.blankLinesBefore, line.text);
  });
  for (const line of remainingLines) output.push(...line.blankLinesBefore, line.text);
  return [...output, ...original.blankLinesAtEnd].join("\n");
}

interface Lines {
  lines: Line[];
  /** Blank lines at the end of the text, with their spaces. */
  blankLinesAtEnd: string[];
}

function linesOf(text: string): Lines {
  const lines: Line[] = [];
  let blankLines: string[] = [];
  for (const line of text.split("\n")) {
    const compactText = line.replaceAll(/\s/g, "");
    if (compactText === "") blankLines.push(line);
    else {
      lines.push({ text: line, compactText, blankLinesBefore: blankLines });
      blankLines = [];
    }
  }
  return { lines, blankLinesAtEnd: blankLines };
}

const differences = (before: Line[], after: Line[]) =>
  diffArrays(
    before.map(({ compactText: bare }) => bare),
    after.map(({ compactText: bare }) => bare),
  );

/** The owner's lines for each line of the writer's text, and the owner's lines at the end that correspond to none. */
function sourcesOf(original: Line[], written: Line[]): { sources: Source[]; rest: Line[] } {
  const sources: Source[] = written.map((_, index) => ({
    extra: [],
    lines: [],
    together: [index],
  }));
  let [originalIndex, writtenIndex] = [0, 0];
  /**
   * Owner's lines that differ from the writer's text and are not assigned yet; `firstIndex` is the index of the first
   * line of this run in the writer's text.
   */
  let openLines: Line[] = [];
  let firstIndex = 0;
  const closeGroup = (): void => {
    const together = sources.slice(firstIndex, writtenIndex).map((_, index) => firstIndex + index);
    if (together.length === 0) return;
    for (const index of together) sources[index] = { extra: [], lines: [], together };
    sources[firstIndex] = { extra: [], lines: openLines, together };
    openLines = [];
  };
  for (const { added, removed, value } of differences(original, written)) {
    if (removed) {
      openLines.push(...original.slice(originalIndex, originalIndex + value.length));
      originalIndex += value.length;
    } else if (added) {
      writtenIndex += value.length;
    } else {
      closeGroup();
      for (let index = 0; index < value.length; index++, originalIndex++, writtenIndex++)
        sources[writtenIndex] = {
          extra: openLines.splice(0),
          lines: [original[originalIndex]!],
          together: [writtenIndex],
        };
      firstIndex = writtenIndex;
    }
  }
  closeGroup();
  return { sources, rest: openLines };
}

/** A line of the writer's text that stays or is removed, or a new line of the changed text. */
interface Step {
  what: "stays" | "goes" | "comes";
  index: number;
}

function stepsOf(written: Line[], changed: Line[]): Step[] {
  let [writtenIndex, changedIndex] = [0, 0];
  return differences(written, changed).flatMap(({ added, removed, value }) =>
    value.map((): Step => {
      if (added) return { what: "comes", index: changedIndex++ };
      if (removed) return { what: "goes", index: writtenIndex++ };
      changedIndex++;
      return { what: "stays", index: writtenIndex++ };
    }),
  );
}
