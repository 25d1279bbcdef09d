import type { Paint, Style } from "./paint";
import { widthOf, wrap } from "./wrap";

/** A cell's text, and the style of its lines. */
export type Cell = string | number | { text: string; style: Style };

const textOf = (cell: Cell): string => (typeof cell === "object" ? cell.text : String(cell));

/** A word up to this length stays whole: names of machines, versions, resources. */
const wholeWord = 24;

/**
 * A table in a frame that is at most `columns` wide: the widest columns become narrower, and their cells take more
 * lines. If even single words do not fit, each row becomes a list.
 */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { columns, paint }: { columns: number; paint: Paint },
): string {
  const texts = [head, ...rows.map((row) => row.map(textOf))];
  const columnMaxima = (measure: (text: string) => number): number[] =>
    head.map((_, index) => Math.max(1, ...texts.map((row) => measure(row[index] ?? ""))));
  const naturalWidths = columnMaxima((text) => Math.max(...text.split("\n").map(widthOf)));
  const leastWidths = columnMaxima((text) =>
    Math.min(wholeWord, Math.max(...text.split(/\s/).map((word) => widthOf(word)))),
  );
  // Each column has a blank on both sides and a bar after it. The first column also has a bar before it.
  const room = columns - 3 * head.length - 1;
  if (sum(leastWidths) > room) return renderList(head, rows, { columns, paint });
  const widths = shrinkToFit(naturalWidths, leastWidths, room);
  const rule = (leftCorner: string, middleCorner: string, rightCorner: string): string =>
    paint(
      "dim",
      `${leftCorner}${widths.map((width) => "─".repeat(width + 2)).join(middleCorner)}${rightCorner}`,
    );
  const bar = paint("dim", "│");
  const drawRow = (row: readonly Cell[]): string[] => {
    const cells = widths.map((width, index) => wrap(textOf(row[index] ?? ""), width));
    const height = Math.max(...cells.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) => {
      const parts = cells.map((lines, index) => {
        const text = lines[line] ?? "";
        const [cell, blank] = [row[index], " ".repeat(widths[index]! - widthOf(text))];
        return ` ${typeof cell === "object" && text !== "" ? paint(cell.style, text) : text}${blank} `;
      });
      return `${bar}${parts.join(bar)}${bar}`;
    });
  };
  return [
    rule("┌", "┬", "┐"),
    ...drawRow(head.map((text) => ({ text, style: "bold" }))),
    rule("├", "┼", "┤"),
    ...rows.flatMap(drawRow),
    rule("└", "┴", "┘"),
  ].join("\n");
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** Column widths whose sum fits into the table. The widest column is reduced first. */
function shrinkToFit(
  naturalWidths: readonly number[],
  leastWidths: readonly number[],
  room: number,
): number[] {
  const widths = [...naturalWidths];
  while (sum(widths) > room) {
    const shrinkable = widths.flatMap((width, index) =>
      width > leastWidths[index]! ? [index] : [],
    );
    const widest = shrinkable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
    widths[widest]!--;
  }
  return widths;
}

/** A paragraph for each row: its first cell, then a line for each other cell with the column's name. */
function renderList(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { columns, paint }: { columns: number; paint: Paint },
): string {
  const names = Math.max(...head.slice(1).map(widthOf));
  const fieldLines = (name: string, cell: Cell): string[] => {
    const text = textOf(cell).replaceAll("\n", ", ");
    const [margin, room] = [" ".repeat(names + 4), columns - names - 4];
    const isTooNarrow = text.split(/\s/).some((word) => Math.min(wholeWord, widthOf(word)) > room);
    const lines = isTooNarrow
      ? [`  ${name}`, ...wrap(text, columns - 4).map((line) => `    ${line}`)]
      : wrap(text, room).map((line, index) =>
          index === 0 ? `  ${name.padEnd(names)}  ${line}` : `${margin}${line}`,
        );
    return typeof cell === "object" ? lines.map((line) => paint(cell.style, line)) : lines;
  };
  return rows
    .flatMap(([first = "", ...otherCells]) => [
      ...wrap(textOf(first), columns).map((line) => paint("bold", line)),
      ...otherCells.flatMap((cell, index) => fieldLines(head[index + 1] ?? "", cell)),
    ])
    .join("\n");
}
