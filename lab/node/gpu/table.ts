import type { Card } from "./card";
import type { Outcome } from "./case";

/** A case that ran. */
export interface Row extends Outcome {
  id: string;
  title: string;
  seconds: number;
}

/** Report of a run, which `--json` prints. */
export interface CasesReport {
  /** Whether all cases held, and the stack could be destroyed. */
  ok: boolean;
  date: string;
  /** Versions by name: the node's programs, the kernel, the stack's Talos release. */
  versions: Record<string, string>;
  /** Cards of this computer before the run; absent with the stand-in. */
  cards?: Card[];
  /** Names of the node's cards. */
  models: string[];
  rows: Row[];
}

const mark = ({ passed }: Outcome): string =>
  passed === undefined ? "not tried" : passed ? "held" : "**did not hold**";

/** The report of a run as Markdown. */
export function renderCases({ date, versions, cards, models, rows }: CasesReport): string {
  const card =
    cards === undefined
      ? `no card: a stand-in of the driver for ${models.join(", ")}`
      : cards
          .map(({ name, driver, memoryMiB }) => `${name} (${memoryMiB} MiB), driver ${driver}`)
          .join("; ");
  const cell = (text: string): string => text.replace(/\s+/g, " ").replace(/\|/g, "\\|");
  return [
    `${date.slice(0, 10)}. ${card}. ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")}.`,
    "",
    "| case | outcome | what was seen | s |",
    "|---|---|---|---|",
    ...rows.map(
      (row) =>
        `| ${cell(row.title)} | ${mark(row)} | ${cell(row.observation)} | ${row.seconds.toFixed(0)} |`,
    ),
  ].join("\n");
}
