import * as http from "node:http";
import { listen } from "../loopback";
import { kubeletRelease, type Registry, type TalosImages } from ".";

/** Where the images of a lab's machines come from. */
export interface Front {
  /** Its port on 127.0.0.1. */
  port: number;
  /** What it could not give, and why. */
  problems: readonly string[];
  close(): Promise<void>;
}

/** Images that one of the registry's stands for, whatever their registry and tag. */
const standsFor: readonly (readonly [RegExp, string])[] = [
  [/(^|\/)kubelet$/, `siderolabs/kubelet:${kubeletRelease}`],
  [/(^|\/)pause$/, "lab/pause:1"],
  [/(^|\/)k8s-device-plugin$/, "lab/nvidia-device-plugin:1"],
  [/(^|\/)(etcd|kube-apiserver|kube-controller-manager|kube-scheduler)$/, "lab/controlplane:1"],
  [/(^|\/)cuda$/, "lab/nvidia-smi:1"],
  [/(^|\/)cuda-sample$/, "lab/vectoradd:1"],
];

/**
 * Stands before a registry: makes the installer of a schematic when a machine first asks for it, as the Image Factory does, and knows
 * what stands for other images.
 *
 * @param schematicOf the text of a schematic that the lab's Factory knows, by its ID.
 */
export async function startFront(
  images: TalosImages,
  registry: Registry,
  schematicOf: (id: string) => string | undefined,
): Promise<Front> {
  const made = new Map<string, Promise<string>>();
  const problems: string[] = [];
  const placeOf = async (name: string, reference: string): Promise<[string, string] | undefined> => {
    const [, id] = /(?:^|\/)(?:metal-)?installer\/([0-9a-f]{64})$/.exec(name) ?? [];
    const [place, tag] = id
      ? [`metal-installer/${id}`, images.release]
      : (standsFor.find(([pattern]) => pattern.test(name))?.[1].split(":") ?? []);
    if (place === undefined) return undefined;
    if (id !== undefined && !reference.startsWith("sha256:")) {
      const text = reference === images.release ? schematicOf(id) : undefined;
      if (text === undefined) return undefined;
      if (!made.has(id)) made.set(id, images.installer(registry, text));
      await made.get(id);
    }
    return [place, reference.startsWith("sha256:") ? reference : tag!];
  };
  const server = http.createServer((request, response) => {
    const { method = "GET", headers, url = "/" } = request;
    const [, name, kind, reference] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const refuse = (status: number, problem: string): void => {
      problems.push(problem);
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ errors: [{ code: "MANIFEST_UNKNOWN", message: problem }] }));
    };
    const pass = (path: string): void => {
      const { port } = registry;
      const inner = http.request({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      inner.on("error", (error) => response.destroy(error));
      inner.end();
    };
    if (name === undefined) return pass(url);
    placeOf(name, reference!).then(
      (place) =>
        place === undefined
          ? refuse(404, `nothing in the lab stands for ${name}:${reference}`)
          : pass(`/v2/${place[0]}/${kind}/${place[1]}`),
      (error: Error) => refuse(500, `${name}:${reference}: ${error.message}`),
    );
  });
  return { ...(await listen(server)), problems };
}
