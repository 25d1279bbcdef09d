import { clockTime, type Part, type Timeline } from "./timeline";

const colours: Record<Part, string> = {
  waits: "#e8e8e8",
  drain: "#fff1c2",
  reboot: "#ffb3ae",
  verify: "#cfe4ff",
  gate: "#c6efce",
  other: "#dcd3f5",
};
const [names, span, row, letter] = [190, 620, 26, 7];

/** Text as HTML and SVG show it. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** A timeline as a picture: a row for each bar, its name inside or beside it, a scale below. */
export function timelineSvg({ times, bars }: Timeline): string {
  const end = Math.max(1, ...bars.map(({ to }) => to));
  const x = (seconds: number): number => Math.round(names + (seconds / end) * span);
  const top = 30;
  const bottom = top + bars.length * row;
  const texts: string[] = [`<text x="8" y="19">${escaped(times)}</text>`];
  bars.forEach(({ section, label, part, from, to }, index) => {
    const y = top + index * row;
    const [left, width] = [x(from), Math.max(2, x(to) - x(from))];
    if (bars[index - 1]?.section !== section)
      texts.push(
        `<path d="M0 ${y} h${names + span + 20}" stroke="#ddd"/>`,
        `<text x="8" y="${y + 18}">${escaped(shortened(section, names - 16))}</text>`,
      );
    const caption = `${label} ${clockTime(to - from)}`;
    const long = caption.length * letter;
    // Beside the bar where it is too short for its name: on the right, or on the left where no room is left.
    const [at, anchor] =
      long < width - 8
        ? [left + 6, "start"]
        : left + width + 6 + long < names + span + 20
          ? [left + width + 6, "start"]
          : [left - 6, "end"];
    texts.push(
      `<rect x="${left}" y="${y + 3}" width="${width}" height="${row - 6}" rx="3" fill="${colours[part]}" stroke="#777"/>`,
      `<text x="${at}" y="${y + 18}" text-anchor="${anchor}">${escaped(caption)}</text>`,
    );
  });
  const scale = [0, 0.25, 0.5, 0.75, 1].map(
    (share) =>
      `<path d="M${x(end * share)} ${top} V${bottom}" stroke="#bbb" stroke-dasharray="2 4"/><text x="${x(end * share)}" y="${bottom + 18}" text-anchor="middle">${clockTime(end * share)}</text>`,
  );
  const [width, height] = [names + span + 40, bottom + 28];
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="timeline of the update" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/><g fill="#1c1c1c">${[...scale, ...texts].join("")}</g></svg>`;
}

const shortened = (text: string, width: number): string =>
  text.length * letter > width ? `${text.slice(0, Math.floor(width / letter) - 1)}…` : text;
