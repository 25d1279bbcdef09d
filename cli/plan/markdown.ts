import { timelineMermaid } from "../timeline/mermaid";
import { boxesOf, type Block, type Step } from "./page";

/** Blocks as Markdown, the way GitHub takes it. */
export function toMarkdown(blocks: Block[]): string {
  return `${blocks.map(blockText).join("\n\n")}\n`;
}

function blockText(block: Block): string {
  switch (block.kind) {
    case "heading":
      return `${"#".repeat(block.level)} ${block.text}`;
    case "text":
      return block.text;
    case "list":
      return block.items.map((item) => `- ${item}`).join("\n");
    case "table":
      return [block.head, block.head.map(() => "---"), ...block.rows].map(row).join("\n");
    case "difference":
      return fenced(block.title, block.lines);
    case "order":
      return ["```mermaid", ...mermaid(block.steps), "```"].join("\n");
    case "timeline":
      return ["```mermaid", ...timelineMermaid(block.timeline), "```"].join("\n");
  }
}

const row = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** A fence longer than any in the text: a patch may hold backticks. */
function fenced(title: string, lines: string[]): string {
  const longest = Math.max(2, ...lines.map((line) => /`+/.exec(line)?.[0].length ?? 0));
  const fence = "`".repeat(longest + 1);
  return [`<details><summary>${title}</summary>`, "", `${fence}diff`, ...lines, fence, "", "</details>"].join("\n");
}

function mermaid(steps: Step[]): string[] {
  let waves = 0;
  const drawn = steps.map((step, index): { id: string; lines: string[] } => {
    if ("machines" in step) {
      const number = ++waves;
      const boxes = boxesOf(step).map(({ lines }, box) => `    m${number}_${box + 1}["${lines.join("<br/>")}"]`);
      return { id: `wave${number}`, lines: [`  subgraph wave${number}["${number}"]`, ...boxes, "  end"] };
    }
    const id = `step${index + 1}`;
    return { id, lines: [`  ${id}${step.gate ? `{{"${step.once}"}}` : `["${step.once}"]`}`] };
  });
  return [
    "flowchart LR",
    ...drawn.flatMap(({ lines }) => lines),
    ...drawn.slice(1).map(({ id }, index) => `  ${drawn[index]!.id} --> ${id}`),
  ];
}
