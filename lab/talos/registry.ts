import * as fs from "node:fs";
import * as path from "node:path";
import { spawnGuarded } from "../session/process";

/** An image that a registry gets, of its layers' tar files. */
export interface Image {
  ref: string;
  layers: string[];
  entrypoint: string[];
}

/** What it says of one. */
interface Answer {
  digest?: string;
  error?: string;
}

/** An OCI registry on loopback. */
export interface Registry {
  /** Its port on 127.0.0.1; machines see it at 10.0.2.2. Names under `silent/` are never answered. */
  port: number;
  /** Gives the image's digest. */
  push(image: Image): Promise<string>;
  /** Requests so far, e.g. `GET /v2/`. */
  requests: readonly string[];
  stop(): Promise<void>;
}

/** Makes the folder of a registry that has what others have, which stay as they are. Gives it. */
export async function joinStores(folders: readonly string[], folder: string): Promise<string> {
  const blobs = path.join(folder, "sha256");
  fs.mkdirSync(blobs, { recursive: true });
  for (const from of folders) {
    const [theirs, manifests] = ["sha256", "manifests"].map((name) => path.join(from, name)) as [
      string,
      string,
    ];
    for (const blob of fs.readdirSync(theirs))
      if (!fs.existsSync(path.join(blobs, blob)))
        fs.symlinkSync(path.join(theirs, blob), path.join(blobs, blob));
    fs.appendFileSync(path.join(folder, "manifests"), fs.readFileSync(manifests));
  }
  return folder;
}

/** Starts a registry. @param folder that it keeps what it has in. */
export async function startRegistry(
  programs: string,
  folder: string,
  signal?: AbortSignal,
): Promise<Registry> {
  fs.mkdirSync(folder, { recursive: true });
  const requests: string[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  const child = await spawnGuarded<{ port: number }>(path.join(programs, "registry"), [folder], {
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
        throw new Error(`registry: ${image.ref} was not taken: ${answer.error}`);
      return answer.digest;
    },
  };
}
