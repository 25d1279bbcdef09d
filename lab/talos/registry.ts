import * as fs from "node:fs";
import * as path from "node:path";
import { spawnChild } from "../session/process";

/** An image to put into a registry, with the tar files of its layers. */
export interface Image {
  ref: string;
  layers: string[];
  entrypoint: string[];
}

/** The registry's answer to such an image. */
interface Answer {
  digest?: string;
  error?: string;
}

/** An OCI registry on loopback. */
export interface Registry {
  /** Its port on 127.0.0.1; machines see it at 10.0.2.2. Names under `silent/` are never answered. */
  port: number;
  /** Adds an image, and gives its digest. */
  push(image: Image): Promise<string>;
  /** Requests so far, e.g. `GET /v2/`. */
  requests: readonly string[];
  stop(): Promise<void>;
}

/** Makes a registry's folder with the content of others, which do not change. Gives its path. */
export async function joinStores(folders: readonly string[], folder: string): Promise<string> {
  const blobs = path.join(folder, "sha256");
  fs.mkdirSync(blobs, { recursive: true });
  for (const source of folders) {
    const [sourceBlobs, manifests] = ["sha256", "manifests"].map((name) =>
      path.join(source, name),
    ) as [string, string];
    for (const blob of fs.readdirSync(sourceBlobs))
      if (!fs.existsSync(path.join(blobs, blob)))
        fs.symlinkSync(path.join(sourceBlobs, blob), path.join(blobs, blob));
    fs.appendFileSync(path.join(folder, "manifests"), fs.readFileSync(manifests));
  }
  return folder;
}

/**
 * Starts a registry.
 *
 * @param folder folder that keeps its content.
 */
export async function startRegistry(
  programs: string,
  folder: string,
  signal?: AbortSignal,
): Promise<Registry> {
  fs.mkdirSync(folder, { recursive: true });
  const requests: string[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  const child = await spawnChild<{ port: number }>(path.join(programs, "registry"), [folder], {
    name: "registry",
    onLog: (line) => requests.push(line),
    onLine: (line) => waiting.shift()?.(JSON.parse(line) as Answer),
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    port: child.ready.port,
    requests,
    stop: () => child.stop(),
    push: async (image) => {
      const answer = await new Promise<Answer>((resolve) => {
        waiting.push(resolve);
        void child.ended.then(() => resolve({ error: "it has ended" }));
        child.write(`${JSON.stringify(image)}\n`);
      });
      if (answer.digest === undefined)
        throw new Error(`registry: refused ${image.ref}: ${answer.error}`);
      return answer.digest;
    },
  };
}
