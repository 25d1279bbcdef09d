import Table from "cli-table3";
import type { ComparedFigure, Result } from "./compare";
import type { LabTime } from "./lab";
import type { Spread } from "./statistics";

/** All measurements: the output of `--json`. */
export interface Report {
  comparisons: Result[];
  labs: LabTime[];
  /** Ratios that are too high, or have no expected value. */
  failures: string[];
}

/** A row for each figure: its minimum, median and maximum. */
export function renderReport({ comparisons, labs }: Report): string {
  const table = new Table({
    head: ["measured", "minimum", "median", "maximum"],
    style: { head: [], border: [], compact: true },
    colAligns: ["left", "right", "right", "right"],
  });
  for (const { title, baseline, cpu, memory } of comparisons) {
    table.push(...rowsOf(`${title}, CPU`, baseline, cpu, (value) => `${value.toFixed(2)} s`));
    if (memory)
      table.push(
        ...rowsOf(`${title}, memory`, baseline, memory, (value) => `${value.toFixed(0)} MiB`),
      );
  }
  for (const { title, cpu, wall } of labs) {
    table.push(rowOf(`${title}, CPU`, cpu, (value) => `${value.toFixed(0)} s`));
    table.push(rowOf(`${title}, by the clock`, wall, (value) => `${value.toFixed(0)} s`));
  }
  return table.toString();
}

type Notation = (value: number) => string;

function rowsOf(
  title: string,
  baselineTitle: string,
  figure: ComparedFigure,
  notation: Notation,
): string[][] {
  return [
    rowOf(title, figure.subject, notation),
    rowOf(`  ${baselineTitle}`, figure.baseline, notation),
    rowOf("  ratio", figure.ratio, (value) => value.toFixed(2)),
  ];
}

function rowOf(title: string, { minimum, median, maximum }: Spread, notation: Notation): string[] {
  return [title, notation(minimum), notation(median), notation(maximum)];
}
