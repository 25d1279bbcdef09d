import { compile } from "../bundle/bundle";

/** What a stack's program is to the engine: registers resources, returns the stack's outputs. */
export type Program = () => Promise<Record<string, unknown> | undefined>;

/**
 * The program of a file (absolute, a bundle where it has several modules) whose exports are the stack's outputs, evaluated again for every
 * update: resources are registered while a module is evaluated, and the Automation API's inline program runs in this process, where that
 * happens once. Packages outside of the bundle stay, as the SDK must be one and the same; it keeps what belongs to an update in a store of
 * its own for each (sdk/nodejs/automation/server.ts, `withLocalStorage`).
 */
export function programFromFile(file: string): Program {
  const evaluate = compile(file);
  return async () => {
    const exported = evaluate();
    // As Pulumi's Node host: a main file that exports a function is called for its outputs (sdk/nodejs/cmd/run/run.ts).
    const outputs = (await (typeof exported === "function"
      ? (exported as Program)()
      : exported)) as Record<string, unknown>;
    return { ...outputs };
  };
}
