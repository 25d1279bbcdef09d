import { type IncomingMessage, STATUS_CODES } from "node:http";
import * as https from "node:https";
import { createSecureContext } from "node:tls";
import type { Access } from "./kubeconfig";
import { limit } from "../session/limit";

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
    /** HTTP status, e.g. 404. */
    public readonly code: number,
    /** Kubernetes' reason, e.g. `AlreadyExists`. */
    public readonly reason: string,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Whether the error says that the object, its namespace or its kind is not there. */
export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 404;

/** One request to the API server. The body's default type is JSON. */
export interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  /** What the answer is to be. Default: JSON. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

// A list or an apply of a healthy server takes milliseconds; admission webhooks may take 30 s.
const requestMilliseconds = 60_000;

/** The API server behind one kubeconfig. */
export class Api {
  private readonly agent: https.Agent;

  constructor(private readonly access: Access) {
    const { ca, cert, key } = access;
    // Made once: Node reads the certificates again for each connection otherwise.
    this.agent = new https.Agent({ keepAlive: true, secureContext: createSecureContext({ ca, cert, key }) });
  }

  /** Sends a request; returns the answer. Errors: `ApiError`, or unreachable. */
  async request(request: Request): Promise<KubernetesObject> {
    const within = limit(requestMilliseconds, request.signal);
    const chunks: Buffer[] = [];
    let response: IncomingMessage;
    try {
      response = await this.send({ ...request, signal: within.signal });
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } finally {
      within.release();
    }
    const object = parseBody(Buffer.concat(chunks).toString("utf8"));
    const code = response.statusCode ?? 0;
    if (code >= 300)
      throw new ApiError(code, String(object["reason"] ?? ""), String(object["message"] ?? STATUS_CODES[code]));
    return object;
  }

  /** Frees the connections. */
  close(): void {
    this.agent.destroy();
  }

  private send(request: Request): Promise<IncomingMessage> {
    const url = new URL(this.access.server + request.path);
    for (const [key, value] of Object.entries(request.query ?? {}))
      if (value !== undefined) url.searchParams.set(key, value);
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const options: https.RequestOptions = {
      method: request.method,
      agent: this.agent,
      ...(request.signal ? { signal: request.signal } : {}),
      headers: {
        accept: request.accept ?? "application/json",
        ...(body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
        ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
      },
    };
    return new Promise((resolve, reject) => {
      const sent = https.request(url, options, resolve);
      sent.once("error", (error) => reject(unreachable(url, error, request.signal)));
      sent.end(body);
    });
  }
}

function parseBody(text: string): KubernetesObject {
  try {
    return JSON.parse(text) as KubernetesObject;
  } catch {
    return { message: text.trim() };
  }
}

function unreachable(url: URL, error: Error, signal: AbortSignal | undefined): Error {
  if (signal?.aborted) return signal.reason as Error;
  return new Error(`Kubernetes API server ${url.origin} is unreachable: ${error.message}`, { cause: error });
}
