import { boxesOf, type Block, type Wave } from "./page";

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
      return ["```mermaid", ...mermaid(block.waves, block.then), "```"].join("\n");
  }
}

const row = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** A fence longer than any in the text: a patch may hold backticks. */
function fenced(title: string, lines: string[]): string {
  const longest = Math.max(2, ...lines.map((line) => /`+/.exec(line)?.[0].length ?? 0));
  const fence = "`".repeat(longest + 1);
  return [`<details><summary>${title}</summary>`, "", `${fence}diff`, ...lines, fence, "", "</details>"].join("\n");
}

function mermaid(waves: Wave[], then: string): string[] {
  const ids = waves.map((_, index) => `wave${index + 1}`);
  return [
    "flowchart LR",
    ...waves.flatMap((wave, index) => [
      `  subgraph ${ids[index]!}["${index + 1}"]`,
      ...boxesOf(wave).map(({ lines }, box) => `    m${index + 1}_${box + 1}["${lines.join("<br/>")}"]`),
      "  end",
    ]),
    `  gpus["${then}"] --> gate{{"smoke test on every GPU machine"}} --> workloads["workloads"]`,
    ...[...ids, "gpus"].slice(1).map((id, index) => `  ${[...ids, "gpus"][index]!} --> ${id}`),
  ];
}
