import * as http from "node:http";
import { listen } from "../loopback";
import { kubeletImage, type ImageFactory } from ".";

/** A server from which a lab's machines pull images. */
export interface Front {
  /** Its port on 127.0.0.1. */
  port: number;
  close(): Promise<void>;
}

/** Servers behind the front, in addition to the Image Factory. */
export interface FrontBackends {
  /** Port of the registry of all other images. Default: the Factory's registry. */
  pods?: number;
  /** Ports of further Image Factories, by the first part of their images' names. */
  factories?: Record<string, number>;
  /** Gives facts about a machine for its pods; rejects while they are unknown. */
  factsOf?(machine: string): Promise<object>;
}

/**
 * Starts a proxy for the Image Factory and the registries, since a machine has one mirror for all names. It serves a
 * machine's facts at `/facts/MACHINE`.
 */
export async function startFront(
  release: string,
  { port: factory, registry, errors }: ImageFactory,
  { pods = registry.port, factories = {}, factsOf = () => Promise.resolve({}) }: FrontBackends = {},
): Promise<Front> {
  const [kubelet, tag] = kubeletImage(release).split(":");
  const server = http.createServer((request, response) => {
    const { method = "GET", headers, url = "/" } = request;
    const refuse = (status: number, problem: string): void => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ errors: [{ code: "UNKNOWN", message: problem }] }));
    };
    const forward = (port: number, path = url): void => {
      const backendRequest = http.request(
        { host: "127.0.0.1", port, path, method, headers },
        (answer) => {
          if (answer.statusCode === 500) return refuse(500, errors.at(-1) ?? "no reason is known");
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      backendRequest.on("error", (error) => response.destroy(error));
      backendRequest.end();
    };
    const [, machine] = /^\/facts\/(.+)$/.exec(url) ?? [];
    if (machine !== undefined)
      return void factsOf(machine).then(
        (facts) => response.end(JSON.stringify(facts)),
        (error: Error) => refuse(503, error.message),
      );
    const [, name = "", kind, reference] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const [installer] = /[^/]*installer(?:-secureboot)?\/[0-9a-f]{64}$/.exec(name) ?? [];
    const port = factories[name.split("/")[0]!] ?? factory;
    if (installer !== undefined) return forward(port, `/v2/${installer}/${kind}/${reference}`);
    if (/(^|\/)kubelet$/.test(name))
      return forward(
        registry.port,
        `/v2/${kubelet}/${kind}/${reference!.startsWith("sha256:") ? reference : tag}`,
      );
    forward(name === "" ? registry.port : pods);
  });
  return listen(server);
}
