import { escaped, timelineSvg } from "../timeline/svg";
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
code { background: #f0f0f0; padding: 0 .2rem } .drawn { overflow-x: auto } svg text { font: 14px system-ui, sans-serif }
.order { display: flex; align-items: center; gap: 1rem } .order div div { border: 1px solid #666; border-radius: 6px; padding: .3rem .8rem; margin: .5rem 0; text-align: center; min-width: 7rem }
.yes { background: #ffd7d5 } .only-if { background: #fff1c2 } .no { background: #dafbe1 } .step { background: #e8e8e8 }
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
      return `<div class="drawn"><div class="order" role="img" aria-label="order of the update">${graph(block.steps)}</div></div>`;
    case "timeline":
      return `<div class="drawn">${timelineSvg(block.timeline)}</div>`;
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

/** Columns from left to right: a step of the update each. */
function graph(steps: Step[]): string {
  const columns = steps.map((step) => ("machines" in step ? boxesOf(step) : [{ lines: [step.once], reboots: "step" }]));
  const box = ({ lines, reboots }: { lines: string[]; reboots: string }): string =>
    `<div class="${reboots.replace(" ", "-")}">${lines.map(escaped).join("<br>")}</div>`;
  return columns.map((boxes) => `<div>${boxes.map(box).join("")}</div>`).join("<span>→</span>");
}
