import { createHash } from "node:crypto";
import * as http from "node:http";
import { text as bodyOf } from "node:stream/consumers";
import * as semver from "semver";
import { listen } from "../loopback";
import { findExtension, knownVersions, officialExtensions } from "./releases";
import { readSchematic, Refusal, type Schematic } from "./schematic";

export { readSchematic, type Schematic } from "./schematic";
export { driversOf, knownVersions, officialExtensions, type Extension } from "./releases";

/** An Image Factory that listens on 127.0.0.1. */
export interface Factory {
  /** URL, without a slash at the end. */
  readonly url: string;
  /** Schematics registered so far, by ID. */
  schematics(): ReadonlyMap<string, Schematic>;
  /** Registers a schematic (YAML) without an HTTP request, and gives its ID. */
  register(schematic: string): string;
  /** Requests so far by route, e.g. `POST /schematics` -> 2. */
  requests(): Readonly<Record<string, number>>;
  /** Makes the next requests of a route fail with an internal error, like a busy Factory. */
  failNext(route: string, times: number): void;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Emulates the Image Factory's HTTP interface: schematics, releases, official extensions, and the check of an installer
 * image's extensions when its manifest is asked for. It makes no images. Rules: siderolabs/image-factory,
 * internal/frontend/http and internal/profile/profile.go; lab/tests/real-talos/factory.test.ts compares it with the
 * real one.
 *
 * @param versions Talos releases, each with its `v`. Default: every release whose drivers are known.
 * @param schematics (YAML) that are registered already, e.g. those that adopted machines run.
 */
export async function startFactory({
  versions = knownVersions(),
  schematics: registeredSchematics = [],
}: { versions?: readonly string[]; schematics?: readonly string[] } = {}): Promise<Factory> {
  const schematics = new Map<string, Schematic>();
  const counts: Record<string, number> = {};
  const failures: Record<string, number> = {};
  const register = (body: string): Schematic => {
    const schematic = readSchematic(body);
    schematics.set(schematic.id, schematic);
    return schematic;
  };
  register("customization: {}"); // every Factory knows the schematic without extensions
  registeredSchematics.forEach(register);

  /** Methods and paths as internal/frontend/http/http.go registers them; a manifest is found by registry_routes.go. */
  const routes: Readonly<
    Record<string, (parameters: string[], body: string, query: URLSearchParams) => Answer>
  > = {
    "POST /schematics": (_, body) => {
      const { id, text } = register(body);
      return { status: 201, type: "application/json", body: `${json({ id, schematic: text })}\n` }; // the text since v1.3
    },
    "GET /schematics/:schematic": ([id = ""]) => {
      const schematic = schematics.get(id);
      if (!schematic) throw new Refusal(404, "schematic not found");
      return { status: 200, type: "application/yaml", body: schematic.text };
    },
    "GET /versions": (_, _body, query) =>
      plain(200, json(query.get("broken") === "true" ? [] : versions)),
    "GET /version/:version/extensions/official": ([version = ""]) =>
      plain(200, json(officialExtensions(available(version)))),
    "GET /v2": () => ({ status: 200, body: "" }),
    "GET /v2/:image/:schematic/manifests/:tag": ([image = "", id = "", tag = ""]) =>
      manifest(image, id, tag),
  };

  /**
   * Answers a request for an installer's manifest. Only here the Factory checks the names of extensions against a Talos
   * release (internal/profile/profile.go, EnhanceFromSchematic). The image of the manifest does not exist.
   */
  function manifest(image: string, id: string, tag: string): Answer {
    const schematic = schematics.get(id);
    if (!schematic) throw new Refusal(404, `schematic ID "${id}" not found`);
    if (!/^(installer|.+-installer)(-secureboot)?$/.test(image))
      throw new Refusal(400, `invalid image: ${image}`);
    const errorPrefix = "error enhancing profile from schematic:";
    const official = officialExtensions(
      available(tag, `${errorPrefix} failed to get base installer: `),
    );
    const extensions = schematic.extensions.map((name) => {
      const extension = findExtension(official, name);
      if (extension === undefined)
        throw new Refusal(
          400,
          `${errorPrefix} official extension "${name}" is not available for Talos version ${tag}`,
        );
      const [, shortName = "", version = ""] = /([^/]+):([^:]+)$/.exec(extension.ref)!;
      return { name: shortName, version, reference: extension.ref };
    });
    const contents = { schematic: schematic.text, extensions, kernelArgs: schematic.kernelArgs };
    const digest = `sha256:${createHash("sha256").update(`${image}/${id}:${tag}`).digest("hex")}`;
    const type = "application/vnd.oci.image.index.v1+json";
    const annotations = { "lab.talos-gpu.dev/contents": JSON.stringify(contents) }; // for the lab's machines
    const body = JSON.stringify({ schemaVersion: 2, mediaType: type, manifests: [], annotations });
    return { status: 200, type, body, headers: { "Docker-Content-Digest": digest } };
  }

  /** The release with its `v`, if the Factory has it. An invalid version causes an internal error. */
  function available(version: string, errorPrefix = ""): string {
    const parsed = semver.parse(version.replace(/^v/, ""));
    if (!parsed) throw new Error("error parsing version");
    if (versions.includes(`v${parsed.version}`)) return `v${parsed.version}`;
    throw new Refusal(404, `${errorPrefix}version ${parsed.version} is not available`);
  }

  /** Answers a request, and counts it under `route`. Errors become answers as in http.go, MatchError. */
  function answer(method: string, url: URL, body: string): { route: string; reply: Answer } {
    const routeMethod = method === "HEAD" && url.pathname.startsWith("/v2") ? "GET" : method;
    for (const [route, handle] of Object.entries(routes)) {
      const [verb = "", path = ""] = route.split(" ");
      const match = new RegExp(`^${path.replace(/:\w+/g, "([^/]+)")}$`).exec(
        url.pathname.replace(/^\/v2\/$/, "/v2"),
      );
      if (match === null) continue;
      const countedRoute = `${method}${route.slice(verb.length)}`;
      if (verb !== routeMethod)
        return { route: countedRoute, reply: plain(405, "Method Not Allowed") };
      const parameters = match.slice(1).map(decodeURIComponent);
      try {
        if ((failures[countedRoute] ?? 0) > 0)
          throw new Error(`made to fail (${failures[countedRoute]!--})`);
        return { route: countedRoute, reply: handle(parameters, body, url.searchParams) };
      } catch (error) {
        if (error instanceof Refusal)
          return { route: countedRoute, reply: plain(error.status, error.message) };
        return { route: countedRoute, reply: plain(500, "internal server error") }; // without details
      }
    }
    return { route: `${method} other`, reply: plain(404, "404 page not found") };
  }

  const server = http.createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { method = "GET", url = "/" } = request;
      const { route, reply } = answer(method, new URL(url, "http://factory"), body);
      counts[route] = (counts[route] ?? 0) + 1;
      response.writeHead(reply.status, {
        ...(reply.type && { "Content-Type": reply.type }),
        ...reply.headers,
      });
      response.end(method === "HEAD" ? undefined : reply.body);
    });
  });
  const { url, close } = await listen(server);
  return {
    url,
    schematics: () => schematics,
    register: (schematic) => register(schematic).id,
    requests: () => ({ ...counts }),
    failNext: (route, times) => void (failures[route] = times),
    close,
  };
}

const json = (value: unknown): string => JSON.stringify(value);

/** Plain text with a line end: Go's http.Error, and its guess for a body without a type. */
const plain = (status: number, text: string): Answer => ({
  status,
  type: "text/plain; charset=utf-8",
  body: `${text}\n`,
});
