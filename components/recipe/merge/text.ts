import { diffArrays } from "diff";

/** A line of a text, in a form without spaces for comparisons, and the blank lines above it. */
interface Line {
  text: string;
  bare: string;
  above: string[];
}

/** The owner's lines that correspond to one line of the writer's text. */
interface Source {
  /** Owner's lines before them that the writer leaves out. */
  extra: Line[];
  lines: Line[];
  /**
   * Indexes of all writer's lines that correspond to these owner's lines. The owner's lines stay only if all of these
   * stay.
   */
  together: number[];
}

/**
 * The owner's text of a document with the changes of the document. Unchanged lines keep their spaces, their indentation
 * and the blank lines above them.
 *
 * @param text document in the owner's notation.
 * @param before the same document in the notation of the YAML writer.
 * @param after the changed document in the notation of the YAML writer.
 */
export function withChanges(text: string, before: string, after: string): string {
  const [owners, written, changed] = [text, before, after].map(linesOf) as [Lines, Lines, Lines];
  const { sources, rest } = sourcesOf(owners.lines, written.lines);
  const steps = stepsOf(written.lines, changed.lines);
  const stays = new Set(steps.flatMap((step) => (step.what === "stays" ? step.index : [])));
  const out: string[] = [];
  steps.forEach((step, at) => {
    const goesOn = steps[at - 1]?.what === step.what;
    if (step.what === "comes") {
      const line = changed.lines[step.index]!;
      out.push(...(goesOn ? line.above : []), line.text);
      return;
    }
    const { extra, lines, together } = sources[step.index]!;
    for (const line of extra) out.push(...line.above, line.text);
    if (step.what === "goes") {
      // Blank lines within the removed lines are removed too, and those above them stay.
      out.push(...(goesOn ? [] : (lines[0]?.above ?? [])));
      return;
    }
    const whole = together.every((index) => stays.has(index));
    for (const line of whole ? lines : [written.lines[step.index]!])
      out.push(...line.above, line.text);
  });
  for (const line of rest) out.push(...line.above, line.text);
  return [...out, ...owners.below].join("\n");
}

interface Lines {
  lines: Line[];
  /** Number of blank lines at the end. */
  below: string[];
}

function linesOf(text: string): Lines {
  const lines: Line[] = [];
  let above: string[] = [];
  for (const line of text.split("\n")) {
    const bare = line.replaceAll(/\s/g, "");
    if (bare === "") above.push(line);
    else {
      lines.push({ text: line, bare, above });
      above = [];
    }
  }
  return { lines, below: above };
}

const differences = (from: Line[], to: Line[]) =>
  diffArrays(
    from.map(({ bare }) => bare),
    to.map(({ bare }) => bare),
  );

/** The owner's lines for each line of the writer's text, and the owner's lines at the end that correspond to none. */
function sourcesOf(owners: Line[], written: Line[]): { sources: Source[]; rest: Line[] } {
  const sources: Source[] = written.map((_, index) => ({
    extra: [],
    lines: [],
    together: [index],
  }));
  let [at, to] = [0, 0];
  /**
   * A run of lines that differ between the owner's and the writer's text, with the index of its first line in the
   * writer's text.
   */
  let open: Line[] = [];
  let first = 0;
  const close = (): void => {
    const together = sources.slice(first, to).map((_, index) => first + index);
    if (together.length === 0) return;
    for (const index of together) sources[index] = { extra: [], lines: [], together };
    sources[first] = { extra: [], lines: open, together };
    open = [];
  };
  for (const { added, removed, value } of differences(owners, written)) {
    if (removed) {
      open.push(...owners.slice(at, at + value.length));
      at += value.length;
    } else if (added) {
      to += value.length;
    } else {
      close();
      for (let index = 0; index < value.length; index++, at++, to++)
        sources[to] = { extra: open.splice(0), lines: [owners[at]!], together: [to] };
      first = to;
    }
  }
  close();
  return { sources, rest: open };
}

/** A line of the writer's text that stays or is removed, or a new line of the changed text. */
interface Step {
  what: "stays" | "goes" | "comes";
  index: number;
}

function stepsOf(written: Line[], changed: Line[]): Step[] {
  let [from, to] = [0, 0];
  return differences(written, changed).flatMap(({ added, removed, value }) =>
    value.map((): Step => {
      if (added) return { what: "comes", index: to++ };
      if (removed) return { what: "goes", index: from++ };
      to++;
      return { what: "stays", index: from++ };
    }),
  );
}
