import * as http from "node:http";
import { listen } from "../loopback";
import { kubeletImage, type Registry, type TalosImages } from ".";

/** Where the images of a lab's machines come from. */
export interface Front {
  /** Its port on 127.0.0.1. */
  port: number;
  close(): Promise<void>;
}

/** What stands beside the registry. */
export interface Beside {
  /** Port of the registry of images that pods have. */
  pods: number;
  /** The text of a schematic that the lab's Factory knows, by its ID. */
  schematicOf(id: string): string | undefined;
  /** What the pods of a machine are told of it; throws while that is not known. */
  factsOf(machine: string): object;
}

/**
 * Stands before the registries: makes the installer of a schematic when a machine first asks for it, as the Image Factory does, and
 * knows what stands for other images. At `/facts/MACHINE` it tells of a machine.
 */
export async function startFront(
  images: TalosImages,
  registry: Registry,
  { pods, schematicOf, factsOf }: Beside,
): Promise<Front> {
  const kubelet = kubeletImage(images.release).split(":");
  const made = new Map<string, Promise<string>>();
  const placeOf = async (name: string, reference: string): Promise<[string, string] | undefined> => {
    const [, id] = /(?:^|\/)(?:metal-)?installer\/([0-9a-f]{64})$/.exec(name) ?? [];
    const digest = reference.startsWith("sha256:") ? reference : undefined;
    if (id === undefined) return /(^|\/)kubelet$/.test(name) ? [kubelet[0]!, digest ?? kubelet[1]!] : undefined;
    if (digest === undefined) {
      const text = reference === images.release ? schematicOf(id) : undefined;
      if (text === undefined) return undefined;
      if (!made.has(id)) made.set(id, images.installer(registry, text));
      await made.get(id);
    }
    return [`metal-installer/${id}`, digest ?? images.release];
  };
  const server = http.createServer((request, response) => {
    const { method = "GET", headers, url = "/" } = request;
    const [, name, kind, reference] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const refuse = (status: number, problem: string): void => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ errors: [{ code: "MANIFEST_UNKNOWN", message: problem }] }));
    };
    const pass = (path: string, port = registry.port): void => {
      const inner = http.request({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      inner.on("error", (error) => response.destroy(error));
      inner.end();
    };
    const [, machine] = /^\/facts\/(.+)$/.exec(url) ?? [];
    if (machine !== undefined)
      try {
        return void response.end(JSON.stringify(factsOf(machine)));
      } catch (error) {
        return refuse(503, (error as Error).message);
      }
    if (name === undefined) return pass(url);
    placeOf(name, reference!).then(
      (place) => (place === undefined ? pass(url, pods) : pass(`/v2/${place[0]}/${kind}/${place[1]}`)),
      (error: Error) => refuse(500, `${name}:${reference}: ${error.message}`),
    );
  });
  return listen(server);
}
