import * as fs from "node:fs";
import * as path from "node:path";
import { spawnGuarded } from "../session/process";

/** An image that a registry gets: a tarball as Docker saves it, else its layers' tar files. */
export type Image = { ref: string } & ({ tarball: string } | { layers: string[]; entrypoint: string[] });

/** An OCI registry on loopback. */
export interface Registry {
  /** Its port on 127.0.0.1; machines see it at 10.0.2.2. Names under `silent/` are never answered. */
  port: number;
  push(image: Image): Promise<void>;
  /** Requests so far, e.g. `GET /v2/`. */
  requests: readonly string[];
  stop(): Promise<void>;
}

/** Starts a registry. @param blobs folder that it keeps its blobs in. */
export async function startRegistry(programs: string, blobs: string, signal?: AbortSignal): Promise<Registry> {
  fs.mkdirSync(blobs, { recursive: true });
  const requests: string[] = [];
  const waiting: ((answer: { error?: string }) => void)[] = [];
  const child = await spawnGuarded<{ port: number }>(path.join(programs, "registry"), [blobs], {
    name: "registry",
    onLog: (line) => requests.push(line),
    onLine: (line) => waiting.shift()?.(JSON.parse(line) as { error?: string }),
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    port: child.ready.port,
    requests,
    stop: () => child.stop(),
    push: async (image) => {
      const answer = await new Promise<{ error?: string }>((resolve) => {
        waiting.push(resolve);
        void child.ended.then(() => resolve({ error: "it has ended" }));
        child.write(`${JSON.stringify(image)}\n`);
      });
      if (answer.error !== undefined) throw new Error(`registry: ${image.ref} was not taken: ${answer.error}`);
    },
  };
}
