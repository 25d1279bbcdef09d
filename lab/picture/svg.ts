import { escaped } from "../../cli/escaped";
import { columns, type Shown } from "./recording";

const [letter, line, padding, head] = [7.25, 17, 14, 30];

/**
 * A recorded run as a picture that moves, in a browser and in a page of Markdown; where nothing moves, and for who asks for no
 * movement, it is the run's end.
 *
 * @param faster how many times as fast as it was.
 * @param hold seconds for which the end stands, before it begins again.
 */
export function pictureOf(shown: readonly Shown[], command: string, end: number, faster: number, hold = 8): string {
  const rows = Math.max(...shown.map(({ row }) => row)) + 1;
  const [width, height] = [Math.ceil(columns * letter) + 2 * padding, head + rows * line + 2 * padding];
  const whole = end / faster + hold;
  const share = (seconds: number): string => `${((seconds / faster / whole) * 100).toFixed(2)}%`;
  const frames = new Map<string, string>();
  const texts = shown.map(({ text, row, from, to }) => {
    // Lines that come and go together share their key frames.
    const span = `${share(from)} ${to === undefined ? "" : share(to)}`;
    const name = frames.get(span) ?? `k${frames.size}`;
    frames.set(span, name);
    const mark =
      { "✔": ' class="good"', "✖": ' class="bad"' }[text[0] ?? ""] ?? (to === undefined ? "" : ' class="dim"');
    const cut = text.length > columns ? `${text.slice(0, columns - 1)}…` : text;
    const y = head + padding + row * line + 12;
    return `<text x="${padding}" y="${y}"${mark} style="animation-name:${name}${to === undefined ? "" : ";opacity:0"}">${escaped(cut)}</text>`;
  });
  const keys = [...frames].map(([span, name]) => {
    const [from, to] = span.split(" ");
    const visible = `${from}{opacity:1}`;
    return `@keyframes ${name}{0%{opacity:0}${visible}${to ? `${to}{opacity:0}100%{opacity:0}` : "100%{opacity:1}"}}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" role="img" aria-label="${escaped(`A run of ${command}`)}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<style>text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6e6e6;white-space:pre;animation:${whole.toFixed(2)}s step-end infinite}.good{fill:#9ece6a}.bad{fill:#f7768e}.dim{fill:#8b93a7}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
${keys.join("\n")}</style>
<rect width="100%" height="100%" rx="8" fill="#1a1b26"/>
<text x="${padding}" y="22" class="dim" style="animation:none">$ ${escaped(command)}</text><text x="${width - padding}" y="22" text-anchor="end" class="dim" style="animation:none">${Math.round(end)} s, shown ${faster} times as fast</text>
${texts.join("\n")}
</svg>
`;
}
