import { createHash } from "node:crypto";
import * as semver from "semver";
import { findExtension, officialExtensions } from "./releases";
import { InvalidSchematic, readSchematic, type Schematic } from "./schematic";

/** What the Factory has. */
export interface FactoryState {
  /** Talos releases, each with its `v`. */
  readonly versions: readonly string[];
  /** Schematics by ID. */
  readonly schematics: Map<string, Schematic>;
}

/** What the Factory says. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Handler = (state: FactoryState, match: readonly string[], body: string, query: URLSearchParams) => Answer;

/** Methods and paths as internal/frontend/http/http.go registers them; a manifest is found by registry_routes.go. */
const routes: readonly { method: "GET" | "POST"; name: string; path: RegExp; handle: Handler }[] = [
  { method: "GET", name: "/healthz", path: /^\/healthz$/, handle: () => json("") },
  { method: "POST", name: "/schematics", path: /^\/schematics$/, handle: createSchematic },
  { method: "GET", name: "/schematics/:schematic", path: /^\/schematics\/([^/]+)$/, handle: getSchematic },
  { method: "GET", name: "/versions", path: /^\/versions$/, handle: listVersions },
  {
    method: "GET",
    name: "/version/:version/extensions/official",
    path: /^\/version\/([^/]+)\/extensions\/official$/,
    handle: listExtensions,
  },
  { method: "GET", name: "/v2", path: /^\/v2\/?$/, handle: () => json("") },
  {
    method: "GET",
    name: "/v2/:image/:schematic/manifests/:tag",
    path: /^\/v2\/([^/]+)\/([^/]+)\/manifests\/([^/]+)$/,
    handle: getManifest,
  },
];

/** Answers a request; `route` is the name under which it is counted. */
export function answer(state: FactoryState, method: string, url: string, body: string): Answer & { route?: string } {
  const { pathname, searchParams } = new URL(url, "http://factory");
  const wanted = method === "HEAD" ? "GET" : method;
  for (const route of routes) {
    const match = route.path.exec(pathname);
    if (!match) continue;
    if (route.method !== wanted) return { ...text(405, "Method Not Allowed"), route: route.name };
    const parts = match.slice(1).map(decodeURIComponent);
    return { ...outcome(() => route.handle(state, parts, body, searchParams)), route: route.name };
  }
  return text(404, "404 page not found");
}

/** An answer that is not the expected one, thrown where it is found. */
class Refusal extends Error {
  constructor(
    public readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** How errors turn into answers: http.go, MatchError. What has no tag there is an internal error, without details. */
function outcome(handle: () => Answer): Answer {
  try {
    return handle();
  } catch (error) {
    if (error instanceof Refusal) return text(error.status, error.message);
    if (error instanceof InvalidSchematic) return text(400, error.message);
    return text(500, "internal server error");
  }
}

function createSchematic(state: FactoryState, _match: readonly string[], body: string): Answer {
  const schematic = readSchematic(body);
  state.schematics.set(schematic.id, schematic);
  return json({ id: schematic.id, schematic: schematic.text }, 201);
}

function getSchematic(state: FactoryState, [id = ""]: readonly string[]): Answer {
  const schematic = state.schematics.get(id);
  if (!schematic) throw new Refusal(404, "schematic not found");
  return { status: 200, type: "application/yaml", body: schematic.text };
}

function listVersions(state: FactoryState, _match: readonly string[], _body: string, query: URLSearchParams): Answer {
  return json(query.get("broken") === "true" ? [] : state.versions);
}

function listExtensions(state: FactoryState, [version = ""]: readonly string[]): Answer {
  return json(officialExtensions(available(state, version)));
}

/**
 * An installer's manifest. Here, and not before, the names of extensions meet a Talos release
 * (internal/profile/profile.go, EnhanceFromSchematic). The manifest stands for an image that does not exist.
 */
function getManifest(state: FactoryState, [image = "", id = "", tag = ""]: readonly string[]): Answer {
  const schematic = state.schematics.get(id);
  if (!schematic) throw new Refusal(404, `schematic ID "${id}" not found`);
  if (!/^(installer|.+-installer)(-secureboot)?$/.test(image)) throw new Refusal(400, `invalid image: ${image}`);
  const version = available(state, tag);
  const extensions = officialExtensions(version);
  for (const name of schematic.extensions) {
    if (!findExtension(extensions, name)) {
      throw new Refusal(400, `official extension "${name}" is not available for Talos version ${tag}`);
    }
  }
  const digest = `sha256:${createHash("sha256").update(`${image}/${id}:${tag}`).digest("hex")}`;
  const type = "application/vnd.oci.image.index.v1+json";
  const body = JSON.stringify({ schemaVersion: 2, mediaType: type, manifests: [] });
  return { status: 200, type, body, headers: { "Docker-Content-Digest": digest } };
}

/** The release with its `v`, if the Factory has it. What is no version at all is an internal error. */
function available(state: FactoryState, version: string): string {
  const parsed = semver.parse(version.replace(/^v/, ""));
  if (!parsed) throw new Error("error parsing version");
  if (!state.versions.includes(`v${parsed.version}`)) {
    throw new Refusal(404, `version ${parsed.version} is not available`);
  }
  return `v${parsed.version}`;
}

const json = (value: unknown, status = 200): Answer => ({
  status,
  type: "application/json",
  body: value === "" ? "" : `${JSON.stringify(value)}\n`,
});

/** Go's http.Error: plain text with a line end. */
const text = (status: number, message: string): Answer => ({
  status,
  type: "text/plain; charset=utf-8",
  body: `${message}\n`,
});
