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

/** `1:30:00`, `5:00`; of a fraction of a second the whole one. */
export function clockTime(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number: number): string => String(number).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
