import { parseArgs } from "node:util";
import { whyNoRealNode } from "../node/able";
import { provideLanguages, provideNodePrograms, provideTools } from "./index";
import { narrateTools } from "./narrate";

// `npm run tools`: provides every tool and prints the paths as one JSON object, progress on standard error. With `--node`, the
// programs of a real node instead; with `--node --look`, nothing is built, and the status says whether this computer can run one.
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));

const onEvent = narrateTools((line) => console.error(line), false);
const options = { signal: stop.signal, onEvent };

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { node: { type: "boolean" }, look: { type: "boolean" } } });
  if (values.look && !values.node)
    throw new Error("--look: it looks whether a real node can run here; give --node, too");
  if (values.look) {
    const lacks = whyNoRealNode();
    if (lacks.length > 0) throw new Error(`no real node on this computer: ${lacks.join("; ")}`);
  } else if (values.node) {
    print(await provideNodePrograms(options));
  } else {
    const tools = await provideTools(options);
    print({ ...tools, languages: await provideLanguages(options) });
  }
}

const print = (paths: unknown): void => void process.stdout.write(`${JSON.stringify(paths)}\n`);

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
