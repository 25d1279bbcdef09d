/** What a bar is about; decides its colour. */
export type Part = "waits" | "drain" | "reboot" | "verify" | "gate" | "other";

/** One thing that goes on for a while. */
export interface Bar {
  /** Whose row it is in: a machine, or what comes once. */
  section: string;
  label: string;
  part: Part;
  /** Seconds since the update began. */
  from: number;
  to: number;
}

/** An update over time: of a plan at the longest, of a run as it was. */
export interface Timeline {
  /** What the times are, e.g. `at the longest`. */
  times: string;
  bars: Bar[];
}

/**
 * The bars with those of waiting before them: a section that begins later than the update waits for the one that ended last
 * before it. Sections in the order in which they begin.
 */
export function withWaits(bars: readonly Bar[]): Bar[] {
  const sections = [...new Set([...bars].sort((a, b) => a.from - b.from).map(({ section }) => section))];
  return sections.flatMap((section) => {
    const own = bars.filter((bar) => bar.section === section).sort((a, b) => a.from - b.from);
    const { from } = own[0]!;
    // Times of a run are measured: what ended a moment later is what was waited for, too.
    const others = bars.filter((bar) => bar.section !== section && bar.to <= from + 0.5);
    const [last] = others.sort((a, b) => b.to - a.to);
    const waits: Bar[] =
      last === undefined ? [] : [{ section, label: `waits for ${last.section}`, part: "waits", from: 0, to: from }];
    return [...waits.filter((bar) => bar.to > bar.from), ...own];
  });
}

/** Mermaid's words for the state of a task, which it draws in different colours. */
const tags: Record<Part, string> = {
  waits: "done, ",
  drain: "active, ",
  reboot: "crit, ",
  verify: "active, ",
  gate: "",
  other: "",
};

/**
 * A timeline as a Mermaid gantt. Its axis counts from midnight of a day that says nothing: Mermaid knows only dates, and shows
 * them in the reader's own time zone, which a date without one is read in as well.
 */
export function timelineMermaid({ times, bars }: Timeline): string[] {
  const at = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  const long = bars.some(({ to }) => to >= 3600);
  const sections = [...new Set(bars.map(({ section }) => section))];
  return [
    "gantt",
    `  title ${plain(times)}`,
    "  dateFormat YYYY-MM-DD HH:mm:ss",
    `  axisFormat ${long ? "%H:%M" : "%M:%S"}`,
    ...sections.flatMap((section) => [
      `  section ${plain(section)}`,
      ...bars
        .filter((bar) => bar.section === section)
        .map(
          ({ label, part, from, to }) => `  ${plain(label)} :${tags[part]}${at(from)}, ${at(Math.max(to, from + 1))}`,
        ),
    ]),
  ];
}

/** Signs that end a name in Mermaid's language, or begin a comment. */
const plain = (text: string): string =>
  text
    .replaceAll(/[:;#,%]/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
