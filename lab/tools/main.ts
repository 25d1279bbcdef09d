import { provideLanguages, provideTools } from "./index";
import { narrateTools } from "./narrate";

// `npm run tools`: provides every tool and prints the paths as one JSON object, progress on standard error.
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));

const onEvent = narrateTools((line) => console.error(line), false);
async function main(): Promise<void> {
  const tools = await provideTools({ signal: stop.signal, onEvent });
  const languages = await provideLanguages({ signal: stop.signal, onEvent });
  process.stdout.write(`${JSON.stringify({ ...tools, languages })}\n`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
