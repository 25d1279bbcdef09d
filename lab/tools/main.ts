import { provideTools } from "./index";

// `npx tsx lab/tools/main.ts`: provides every tool and prints the paths as one JSON object, progress on standard error.
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));

provideTools({
  signal: stop.signal,
  onEvent: ({ tool, state, detail, seconds }) => {
    const time = seconds === undefined ? "" : ` ${seconds.toFixed(0)} s`;
    process.stderr.write(`${tool}: ${state}${time} ${detail}\n`);
  },
}).then(
  (tools) => process.stdout.write(`${JSON.stringify(tools)}\n`),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
