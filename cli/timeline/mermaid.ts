import type { Part, Timeline } from "./timeline";

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
