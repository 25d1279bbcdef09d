import { parseArgs } from "node:util";
import { compare } from "./compare";
import { comparisons } from "./comparisons";
import { doubledRatios } from "./expected";
import expected from "./expected.json";
import { measureFirstLab, measureWarmLab } from "./lab";
import { renderReport, type Report } from "./report";

const usage = `npm run bench -- [options]     what the package costs, against something simpler in the same run

  --short      for CI: without the fleet that takes a minute, in less than 20 s of CPU
  --lab        also a warm lab, and the first lab with empty caches, which takes many minutes
  --first-lab  that first lab alone
  --rounds N   rounds of each comparison (default 5, with --short 2)
  --json       one JSON object on standard output, progress on standard error

It fails when the median of a ratio is at least twice what bench/expected.json says.
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      short: { type: "boolean", default: false },
      lab: { type: "boolean", default: false },
      "first-lab": { type: "boolean", default: false },
      rounds: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const rounds = roundsOf(values.rounds ?? (values.short ? "2" : "5"));
  const report: Report = { comparisons: [], labs: [], failures: [] };
  for (const comparison of values["first-lab"] ? [] : comparisons) {
    if (values.short && comparison.long) continue;
    console.error(`${comparison.title}, against ${comparison.baseline}: ${rounds} rounds`);
    report.comparisons.push(await compare(comparison, rounds));
  }
  if (values.lab && !values["first-lab"]) {
    console.error(`a warm lab: ${rounds} rounds, and one before them`);
    report.labs.push(await measureWarmLab(rounds));
  }
  if (values.lab || values["first-lab"]) {
    console.error("the first lab: once, with empty caches");
    report.labs.push(await measureFirstLab());
  }
  report.failures = doubledRatios(report.comparisons, expected);
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : `${renderReport(report)}\n`);
  for (const failure of report.failures) console.error(failure);
  return report.failures.length === 0 ? 0 : 1;
}

function roundsOf(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds > 0) return rounds;
  throw new Error(
    `--rounds: ${text} is not a whole number above 0, so nothing would be measured; give one`,
  );
}

main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
