import { createRequire } from "node:module";
import * as path from "node:path";

/** What a stack's program is to the engine: registers resources, returns the stack's outputs. */
export type Program = () => Promise<Record<string, unknown> | undefined>;

/**
 * The program of a file whose exports are the stack's outputs, evaluated anew for every update.
 *
 * The engine's Node host starts a process per update; the Automation API's inline program runs in this process, where
 * modules are evaluated once. A second update would then register nothing at all, since a program registers its
 * resources while its module is evaluated. So every update forgets the modules of the project first: all below `root`
 * outside `node_modules` (workspaces resolve to their real folder and count as the project's). Packages stay, because
 * the SDK must be one and the same; it keeps what belongs to an update in a store of its own for each
 * (sdk/nodejs/automation/server.ts, `withLocalStorage`).
 *
 * @param file the program's main file, absolute; a TypeScript file needs tsx or a transform that hooks `require`
 * @param root folder of the project whose modules are evaluated anew. Default: the folder of the file
 * @param keep folders below `root` whose modules stay. Default: none
 */
export function programFromFile(file: string, root = path.dirname(file), keep: readonly string[] = []): Program {
  return async () => {
    for (const id of Object.keys(require.cache)) {
      const stays = id.includes(`${path.sep}node_modules${path.sep}`) || keep.some((folder) => isWithin(id, folder));
      if (isWithin(id, root) && !stays) delete require.cache[id];
    }
    // As Pulumi's Node host: a main file that exports a function is called for its outputs (sdk/nodejs/cmd/run/run.ts).
    const exported: unknown = createRequire(file)(file);
    const outputs = (await (typeof exported === "function" ? (exported as Program)() : exported)) as Record<
      string,
      unknown
    >;
    return { ...outputs };
  };
}

const isWithin = (file: string, folder: string): boolean => !path.relative(folder, file).startsWith("..");
