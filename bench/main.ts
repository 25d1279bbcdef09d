import { parseArgs } from "node:util";
import { type Bench, renderBench } from "./report";
import { measurePlanning } from "./planning";
import { measureRegistration } from "./registration";
import { countResources } from "./resources";
import { measurePath } from "./upgrade-path";

const usage = `npm run bench -- [options]     what the component costs, against a program written by hand

  --machines N,...    sizes of cluster to register (default 1,10,100,1000)
  --rounds N          rounds of each size, both programs in each (default 3)
  --without-lab       leave the upgrades in the lab out
  --json              one JSON object on standard output
`;

/** Measures everything, one thing after the other; progress goes to standard error. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      machines: { type: "string", default: "1,10,100,1000" },
      rounds: { type: "string", default: "3" },
      "without-lab": { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return void process.stdout.write(usage);
  const sizes = values.machines.split(",").map((text) => positive("--machines", text));
  const rounds = positive("--rounds", values.rounds);

  console.error("planning");
  const planning = { machines: 1_000, seconds: measurePlanning(1_000, Math.max(rounds, 5)) };
  console.error("resources");
  const bench: Bench = { planning, resources: await countResources(20), registrations: [], paths: [] };
  for (const machines of sizes) {
    console.error(`registration of ${machines} machines, ${rounds} rounds`);
    bench.registrations.push(await measureRegistration(machines, rounds));
  }
  for (const window of values["without-lab"] ? [] : [1, 2, 4]) {
    console.error(`upgrade of 4 workers in the lab, ${window} at a time`);
    bench.paths.push(await measurePath(4, window));
  }
  process.stdout.write(values.json ? `${JSON.stringify(bench)}\n` : `${renderBench(bench)}\n`);
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`${option}: ${text} is no whole number above 0, so nothing can be measured; give one`);
}

main().then(
  () => process.exit(), // gRPC keeps sockets of the engine open for a while
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
