import { parseArgs } from "node:util";
import { problemsWithRealNode } from "./real-node/able";
import { provideTalos, whyNoMachine } from "./talos";
import { provideLanguages, provideNodePrograms, providePromtool, provideTools } from "./tools";
import { narrateTools } from "./tools/events";
import { describeInstalled } from "./tools/installed";

// `npm run tools`: provides every tool and prints the paths as one JSON object, and progress on standard error.
// With `--node`: the programs of a real node instead. Adding `--look` builds nothing; the exit status says whether
// this computer can run a real node.
// With `--talos v1.13.0`: images of real Talos of that release; `--look` has the same effect.
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));

const onEvent = narrateTools((line) => console.error(line));
const options = { signal: stop.signal, onEvent };

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { node: { type: "boolean" }, talos: { type: "string" }, look: { type: "boolean" } },
  });
  if (values.look && !values.node && values.talos === undefined)
    throw new Error(
      "--look: it checks whether a real node or real Talos can run here; add --node or --talos",
    );
  if (values.talos !== undefined) {
    const reasons = whyNoMachine();
    if (reasons.length > 0)
      throw new Error(`no real Talos on this computer: ${reasons.join("; ")}`);
    if (!values.look) print((await provideTalos(values.talos, options)).disk);
  } else if (values.look) {
    const reasons = problemsWithRealNode();
    if (reasons.length > 0) throw new Error(`no real node on this computer: ${reasons.join("; ")}`);
  } else if (values.node) {
    print(await provideNodePrograms(options));
  } else {
    const tools = await provideTools({
      ...options,
      onInstalled: (installed) => console.error(describeInstalled(installed)),
    });
    print({
      ...tools,
      languages: await provideLanguages(options),
      promtool: await providePromtool(options),
    });
  }
}

const print = (paths: unknown): void => void process.stdout.write(`${JSON.stringify(paths)}\n`);

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
