import { escaped } from "../escaped";
import { timelineSvg } from "../timeline/svg";
import { boxesOf, type Block, type Step } from "./page";

/** Blocks as one page that needs nothing else: no script, no font, no network. */
export function toHtml(title: string, blocks: Block[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; background: #fff }
table { border-collapse: collapse; margin: 1rem 0 } th, td { border: 1px solid #bbb; padding: .3rem .6rem; text-align: left; vertical-align: top }
pre { background: #f4f4f4; padding: .8rem; overflow-x: auto } .plus { color: #116329 } .minus { color: #a40e26 } .part { color: #57606a }
code { background: #f0f0f0; padding: 0 .2rem } .order { overflow-x: auto } svg text { font: 14px system-ui, sans-serif }
</style>
${blocks.map(blockHtml).join("\n")}
</html>
`;
}

function blockHtml(block: Block): string {
  switch (block.kind) {
    case "heading":
      return `<h${block.level - 1}>${inline(block.text)}</h${block.level - 1}>`;
    case "text":
      return `<p>${inline(block.text)}</p>`;
    case "list":
      return `<ul>${block.items.map((item) => `<li>${inline(item)}</li>`).join("")}</ul>`;
    case "table": {
      const cells = (tag: string, row: string[]): string =>
        `<tr>${row.map((cell) => `<${tag}>${inline(cell)}</${tag}>`).join("")}</tr>`;
      return `<table>${cells("th", block.head)}${block.rows.map((row) => cells("td", row)).join("")}</table>`;
    }
    case "difference":
      return `<details open><summary>${escaped(block.title)}</summary><pre>${block.lines.map(line).join("\n")}</pre></details>`;
    case "order":
      return `<div class="order">${graph(block.steps)}</div>`;
    case "timeline":
      return `<div class="order">${timelineSvg(block.timeline)}</div>`;
  }
}

function line(text: string): string {
  const kind = { "+": "plus", "-": "minus", "@": "part" }[text[0] ?? ""];
  return kind === undefined ? escaped(text) : `<span class="${kind}">${escaped(text)}</span>`;
}

const inline = (text: string): string =>
  escaped(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<b>$1</b>");

/** A text on two lines, where it is long. */
function halves(text: string): string[] {
  const at = text.length > 24 && !text.includes("(") ? text.indexOf(" ", text.length / 2 - 6) : -1;
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

const box = { height: 48, gap: 16, space: 56, letter: 7.6, padding: 24 };
const colours: Record<string, string> = { yes: "#ffd7d5", "only if": "#fff1c2", no: "#dafbe1", step: "#e8e8e8" };

/** Columns from left to right: a step of the update each. */
function graph(steps: Step[]): string {
  const columns = steps.map((step) =>
    "machines" in step ? boxesOf(step) : [{ lines: halves(step.once), reboots: "step" }],
  );
  const widths = columns.map(
    (boxes) => Math.max(...boxes.flatMap(({ lines }) => lines.map((text) => text.length))) * box.letter + box.padding,
  );
  const height = Math.max(...columns.map((boxes) => boxes.length)) * (box.height + box.gap) + box.gap;
  const parts: string[] = [];
  let x = box.gap;
  columns.forEach((boxes, index) => {
    const top = (height - boxes.length * (box.height + box.gap) + box.gap) / 2;
    boxes.forEach(({ lines, reboots }, row) => {
      const y = top + row * (box.height + box.gap);
      parts.push(
        `<rect x="${x}" y="${y}" width="${widths[index]!}" height="${box.height}" rx="6" fill="${colours[reboots]!}" stroke="#666"/>`,
        ...lines.map(
          (text, at) =>
            `<text x="${x + widths[index]! / 2}" y="${y + box.height / 2 + 5 + (at - (lines.length - 1) / 2) * 18}" text-anchor="middle">${escaped(text)}</text>`,
        ),
      );
    });
    x += widths[index]!;
    if (index < columns.length - 1)
      parts.push(`<path d="M${x + 6} ${height / 2} h${box.space - 18}" stroke="#333" marker-end="url(#to)"/>`);
    x += box.space;
  });
  const width = x - box.space + box.gap;
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="order of the update" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><defs><marker id="to" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#333"/></marker></defs>${parts.join("")}</svg>`;
}
