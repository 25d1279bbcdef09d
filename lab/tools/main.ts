import { provideTools } from "./index";
import { narrateTools } from "./narrate";

// `npm run tools`: provides every tool and prints the paths as one JSON object, progress on standard error.
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));

const onEvent = narrateTools((line) => console.error(line), false);
provideTools({ signal: stop.signal, onEvent }).then(
  (tools) => process.stdout.write(`${JSON.stringify(tools)}\n`),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  },
);
