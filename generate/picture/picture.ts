/** Width of a character, height of a line, and margin of the picture, in pixels. */
const [columnWidth, lineHeight, margin] = [7.25, 17, 14];

/**
 * A lab's output as an SVG that looks like a terminal: the command, the finished stages, and the tables.
 *
 * @param lines output of the lab. Lines about single steps and resources are left out.
 */
export function pictureOf(command: string, lines: readonly string[]): string {
  const stages = lines.filter((line) => line.startsWith("✔"));
  const tables = lines.filter((line) => /^[┌│├└]/.test(line));
  const columns = Math.max(...[command, ...stages, ...tables].map((line) => line.length)) + 2;
  const width = Math.ceil(columns * columnWidth + 2 * margin);
  const rows = [
    { text: `$ ${command}`, style: "dim" },
    { text: "", style: "" },
    ...stages.map((text) => ({ text, style: "good" })),
    ...tables.map((text) => ({ text, style: "" })),
  ];
  const height = rows.length * lineHeight + 2 * margin;
  const texts = rows.flatMap(({ text, style }, index) => {
    if (text === "") return [];
    const attribute = style === "" ? "" : ` class="${style}"`;
    const y = 22 + index * lineHeight;
    return `<text x="${margin}" y="${y}"${attribute}>${escape(text)}</text>`;
  });
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const label = `role="img" aria-label="A run of ${escape(command)}"`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" ${label} ${size}>`,
    `<style>text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6e6e6;white-space:pre}.good{fill:#9ece6a}.dim{fill:#8b93a7}</style>`,
    `<rect width="100%" height="100%" rx="8" fill="#1a1b26"/>`,
    ...texts,
    "</svg>",
  ].join("\n")}\n`;
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
