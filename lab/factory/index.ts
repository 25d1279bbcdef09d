import * as http from "node:http";
import { listen } from "../loopback";
import { answer, type Answer, type FactoryState } from "./routes";
import { knownVersions } from "./releases";
import { readSchematic, type Schematic } from "./schematic";

export { InvalidSchematic, readSchematic, type Schematic } from "./schematic";
export { driversOf, knownVersions, officialExtensions, type Extension } from "./releases";

/** What a lab's Image Factory offers. */
export interface FactoryOptions {
  /** Talos releases, each with its `v`. Default: every release whose drivers are known. */
  versions?: readonly string[];
  /** Schematics (YAML) that somebody registered before, e.g. those that adopted machines run. */
  schematics?: readonly string[];
}

/** An Image Factory that listens on 127.0.0.1. */
export interface Factory {
  /** Address, without a slash at the end. */
  readonly url: string;
  /** Schematics registered so far, by ID. */
  schematics(): ReadonlyMap<string, Schematic>;
  /** Registers a schematic (YAML) without a request. Gives its ID. */
  register(schematic: string): string;
  /** Requests so far by route, e.g. `POST /schematics` -> 2. */
  requests(): Readonly<Record<string, number>>;
  /** Answers the next requests of a route, so many of them, with an internal error, as a Factory that is busy does. */
  failNext(route: string, times: number): void;
  /** Stops listening and ends open connections. */
  close(): Promise<void>;
}

/** A schematic is a few lines; the largest part, an embedded machine configuration, stays far below this. */
const bodyLimit = 1024 * 1024;

/**
 * Emulates the Image Factory's HTTP interface: schematics, releases, official extensions, and the check of an installer
 * image's extensions when its manifest is asked for. It makes no images. Rules: siderolabs/image-factory,
 * internal/frontend/http and internal/profile/profile.go.
 */
export async function startFactory(options: FactoryOptions = {}): Promise<Factory> {
  const state: FactoryState = { versions: options.versions ?? knownVersions(), schematics: new Map() };
  const counts: Record<string, number> = {};
  const failures: Record<string, number> = {};
  const register = (body: string): string => {
    const schematic = readSchematic(body);
    state.schematics.set(schematic.id, schematic);
    return schematic.id;
  };
  register("customization: {}"); // every Factory knows the plain image
  options.schematics?.forEach(register);

  const server = http.createServer((request, response) => {
    void readBody(request).then((body) => {
      let reply: Answer & { route?: string } =
        body === undefined
          ? { status: 413, type: "text/plain", body: "request body too large\n" }
          : answer(state, request.method ?? "GET", request.url ?? "/", body);
      const route = `${request.method} ${reply.route ?? "other"}`;
      const failing = failures[route] ?? 0;
      failures[route] = failing - 1;
      if (failing > 0) reply = { status: 500, type: "text/plain", body: "internal server error\n" };
      counts[route] = (counts[route] ?? 0) + 1;
      response.writeHead(reply.status, { "Content-Type": reply.type, ...reply.headers });
      response.end(request.method === "HEAD" ? undefined : reply.body);
    });
  });
  const { url, close } = await listen(server);
  return {
    url,
    schematics: () => state.schematics,
    register,
    requests: () => ({ ...counts }),
    failNext: (route, times) => void (failures[route] = times),
    close,
  };
}

/** Body of a request; undefined when it is too long. */
async function readBody(request: http.IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= bodyLimit) chunks.push(chunk);
  }
  return size > bodyLimit ? undefined : Buffer.concat(chunks).toString("utf8");
}
