import { compile } from "../bundle/bundle";

/** A stack's program for the engine: it registers resources, and returns the stack's outputs. */
export type Program = () => Promise<Record<string, unknown> | undefined>;

/**
 * The program of a file whose exports are the stack's outputs, evaluated again for every update.
 *
 * The engine's Node host starts a process per update; the Automation API's inline program runs in this process, where
 * modules are evaluated once. A second update would then register nothing at all, since a program registers its
 * resources while its module is evaluated. So every update evaluates the file again, which a bundle makes the whole
 * program (`bundle.js`). Packages outside of it stay, because the SDK must be one and the same; it keeps what belongs
 * to an update in a store of its own for each (sdk/nodejs/automation/server.ts, `withLocalStorage`).
 *
 * @param file the program, absolute: JavaScript whose name is of its content, a bundle when it has more than one module
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
