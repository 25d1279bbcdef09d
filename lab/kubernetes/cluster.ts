import { type IncomingMessage, STATUS_CODES } from "node:http";
import * as https from "node:https";
import { createSecureContext } from "node:tls";
import { type Access, readKubeconfig } from "./kubeconfig";

/** Any object of the Kubernetes API. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata?: {
    name?: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    deletionTimestamp?: string;
    ownerReferences?: { uid: string; kind: string; name: string }[];
    [field: string]: unknown;
  };
  // the API's schema is the server's, and open
  [field: string]: any;
}

/** A request that the API server refused, with its own words (`Status`). */
export class ApiError extends Error {
  constructor(
    public readonly code: number,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Whether the error says that the object, its namespace or its kind is not there. */
export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 404;

/** One request to the API server. The body's default type is JSON, and that of the answer. */
export interface Request {
  readonly method?: "GET" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** What the API server's discovery says of a kind, or of a part of one (`pods/log`). */
interface Resource {
  name: string;
  kind: string;
  namespaced: boolean;
}

/** How an apply is done. */
interface ApplyOptions {
  readonly fieldManager: string;
  /** Takes fields from other owners instead of failing. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

// A list or an apply of a healthy server takes milliseconds; admission webhooks may take 30 s.
const requestMilliseconds = 60_000;

/** The API server behind one kubeconfig, and its objects. */
export class Cluster {
  private readonly agent: https.Agent;
  private readonly resources = new Map<string, Promise<Resource[]>>();

  private constructor(private readonly access: Access) {
    const { ca, cert, key } = access;
    // Made once: Node reads the certificates again for each connection otherwise.
    this.agent = new https.Agent({ keepAlive: true, secureContext: createSecureContext({ ca, cert, key }) });
  }

  /** Opens the cluster of a kubeconfig (contents or path). */
  static of(kubeconfig: string): Cluster {
    return new Cluster(readKubeconfig(kubeconfig));
  }

  /** Sends a request; returns the answer. Errors: `ApiError`, or unreachable. */
  async request({ method = "GET", path, body, contentType, accept, signal }: Request): Promise<KubernetesObject> {
    const json = "application/json";
    const text = body === undefined ? "" : JSON.stringify(body);
    // Node gives a DELETE's body no length by itself: the server then takes it for the next request.
    const ofBody = { "content-type": contentType ?? json, "content-length": Buffer.byteLength(text) };
    const sent = https.request(this.access.server + path, {
      ...{ method, agent: this.agent, timeout: requestMilliseconds },
      ...(signal === undefined ? {} : { signal }),
      headers: { accept: accept ?? json, ...(text === "" ? {} : ofBody) },
    });
    const chunks: Buffer[] = [];
    let code: number;
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        sent.once("response", resolve).once("error", reject);
        sent.once("timeout", () => sent.destroy(new Error(`no answer within ${requestMilliseconds / 1000} s`)));
        sent.end(text);
      });
      code = response.statusCode ?? 0;
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch (error) {
      signal?.throwIfAborted();
      const { server } = this.access;
      throw new Error(`Kubernetes API server ${server} is unreachable: ${(error as Error).message}`, { cause: error });
    }
    const object = parsed(Buffer.concat(chunks).toString("utf8"));
    if (code >= 300) throw new ApiError(code, String(object["message"] ?? STATUS_CODES[code]));
    return object;
  }

  async path({ apiVersion = "", kind, metadata }: KubernetesObject): Promise<string> {
    const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const asked = this.resources.get(group) ?? this.listed(group);
    this.resources.set(group, asked);
    const found = await asked.then(
      (list) => list.find((one) => one.kind === kind && !one.name.includes("/")),
      (error: unknown) => {
        this.resources.delete(group);
        throw error;
      },
    );
    if (found === undefined) {
      this.resources.delete(group); // a definition may come later
      throw new ApiError(404, `the API server has no kind ${kind} in ${apiVersion}; is its definition installed?`);
    }
    const namespace = found.namespaced ? `/namespaces/${metadata?.namespace ?? "default"}` : "";
    return `${group}${namespace}/${found.name}/${encodeURIComponent(metadata?.name ?? "")}`;
  }

  private async listed(group: string): Promise<Resource[]> {
    return ((await this.request({ path: group }))["resources"] ?? []) as Resource[];
  }

  /** Reads an object. Error: `ApiError` 404 when it is not there. */
  async get(object: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject> {
    return this.request({ path: await this.path(object), signal });
  }

  async apply(object: KubernetesObject, { fieldManager, force, signal }: ApplyOptions): Promise<KubernetesObject> {
    const path = `${await this.path(object)}?fieldManager=${fieldManager}&force=${force}`;
    // JSON is YAML, and the content type of an apply is YAML's
    return this.request({ method: "PATCH", path, contentType: "application/apply-patch+yaml", body: object, signal });
  }

  /** Deletes, dependents first; returns whether there was something to delete. */
  async delete(object: KubernetesObject, signal: AbortSignal): Promise<boolean> {
    try {
      const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground" };
      await this.request({ method: "DELETE", path: await this.path(object), body, signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  isGone(object: KubernetesObject, signal: AbortSignal): Promise<boolean> {
    return this.get(object, signal).then(() => false, isNotFound);
  }

  close(): void {
    this.agent.destroy();
  }
}

function parsed(text: string): KubernetesObject {
  try {
    return JSON.parse(text) as KubernetesObject;
  } catch {
    return { message: text.trim() };
  }
}
