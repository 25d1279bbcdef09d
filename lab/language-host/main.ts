import { parseArgs } from "node:util";
import { Engine } from "./engine";
import { serveLanguageHost } from "./serve";

/**
 * `pulumi-language-nodejs`, as Pulumi's CLI starts it: the last argument is the engine's address, and the first line on
 * standard output is the port that it listens on (pulumi/pulumi v3.259.0, sdk/go/common/resource/plugin/plugin.go).
 */
async function main(argv: string[]): Promise<void> {
  // `-root`, `-tracing` and the runtime's options come before it; what is needed of them comes with each call as well.
  const { positionals } = parseArgs({ args: argv, strict: false, allowPositionals: true });
  const engine = new Engine(positionals.at(-1) ?? "");
  const { port, stop } = await serveLanguageHost(engine);
  const end = (): void => {
    stop();
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);
  engine.onGone(end);
  console.log(port);
}

void main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`language host: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
