import { compile } from "../bundle/bundle";

/** A stack's program for the engine: it registers resources, and returns the stack's outputs. */
export type Program = () => Promise<Record<string, unknown> | undefined>;

/**
 * The program of a file whose exports are the stack's outputs, evaluated again for every update.
 *
 * The engine's Node host starts a process per update. The Automation API's inline program runs in this process, which
 * evaluates a module only once. A program registers its resources during that evaluation, so a second update would
 * register nothing. So every update evaluates the file again. A bundle contains the whole program (`bundle.js`), except
 * the SDK, which all updates share. The SDK keeps each update's data in a store of its own
 * (sdk/nodejs/automation/server.ts, `withLocalStorage`).
 *
 * @param file absolute path of the program: JavaScript with a hash of its content in its name. A program of several
 * modules is a bundle.
 */
export function programFromFile(file: string): Program {
  const evaluate = compile(file);
  return async () => {
    const exported = evaluate();
    // Like Pulumi's Node host: if the main file exports a function, its result is the outputs
    // (sdk/nodejs/cmd/run/run.ts).
    const outputs = (await (typeof exported === "function"
      ? (exported as Program)()
      : exported)) as Record<string, unknown>;
    return { ...outputs };
  };
}
