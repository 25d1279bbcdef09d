import * as http from "node:http";
import * as https from "node:https";

/** A Kubernetes API, as far as it is looked at. */
export interface KubernetesApi {
  /**
   * Objects of a kind.
   *
   * @param path e.g. `/api/v1/pods`.
   * @param metadataAlone leaves out what the objects say: nobody needs the content of a Secret to know that it is there.
   * @throws Error with the reason, in one line.
   */
  list<T>(path: string, metadataAlone?: boolean): Promise<T[]>;
  /** Text of a path, e.g. a log. */
  text(path: string): Promise<string>;
}

/** How to reach an API server. */
export interface Reach {
  /** Base URL, e.g. `https://10.0.0.1:6443`. */
  server: string;
  /** Certificates, headers and agent of every request. */
  options: https.RequestOptions;
  /** What is wrong with the credentials anyway, told in place of how the server refuses them. */
  problem?: string;
}

/** An answer that is none of the Kubernetes API's, or a refusal. */
export class ApiError extends Error {
  constructor(
    message: string,
    /** HTTP status of a refusal by the API itself. */
    public readonly code?: number,
  ) {
    super(message);
  }
}

/** Most bytes that are read of one answer: more is no list that a cluster with GPUs has. */
const MOST_BYTES = 256 * 1024 * 1024;

/**
 * The API behind a server.
 *
 * @param limit Milliseconds for one request, from its start to the end of the answer.
 */
export function kubernetesApi(reach: Reach, limit: number): KubernetesApi {
  const get = (path: string, accept: string): Promise<Answer> =>
    request(reach, path, accept, limit).catch((error: Error) => {
      throw error instanceof ApiError ? error : new ApiError(reach.problem ?? unreachable(error, reach.server, limit));
    });
  return {
    list: async <T>(path: string, metadataAlone = false): Promise<T[]> => {
      const accept = metadataAlone
        ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        : "application/json";
      const answer = await get(path, accept);
      return itemsOf(answer, reach) as T[];
    },
    text: async (path) => {
      const { status, body } = await get(path, "*/*");
      if (status !== 200) throw new ApiError(`HTTP ${status}`, status);
      return body;
    },
  };
}

interface Answer {
  status: number;
  type: string;
  location?: string;
  body: string;
}

function request({ server, options }: Reach, path: string, accept: string, limit: number): Promise<Answer> {
  const whole = server.replace(/\/$/, "") + path;
  if (!URL.canParse(whole)) throw new Error(`kubeconfig: the server ${server} is not a URL`);
  const url = new URL(whole);
  const { get } = url.protocol === "http:" ? http : https;
  return new Promise((resolve, reject) => {
    const headers = { ...options.headers, accept, "user-agent": "talos-gpu" };
    const asked = get(url, { ...options, headers, signal: AbortSignal.timeout(limit) }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MOST_BYTES) asked.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers["content-type"] ?? "",
          body: Buffer.concat(chunks).toString("utf8"),
          ...(response.headers.location === undefined ? {} : { location: response.headers.location }),
        }),
      );
    });
    asked.on("error", reject);
  });
}

function itemsOf({ status, type, location, body }: Answer, { problem, server }: Reach): unknown[] {
  if (status === 401) throw new ApiError(problem ?? `${server} does not know the credentials (HTTP 401)`, status);
  if (status >= 300 && status < 400)
    throw new ApiError(
      `${server} redirects to ${location ?? "elsewhere"}: a login page or a proxy stands before the API`,
    );
  if (/html/.test(type) || /^\s*<(!doctype|html)/i.test(body))
    throw new ApiError(
      `${server} answers with a web page (HTTP ${status}): a login page or a proxy stands there, not the Kubernetes API`,
    );
  let answer: { kind?: string; items?: unknown; message?: string };
  try {
    answer = JSON.parse(body) as typeof answer;
  } catch {
    throw new ApiError(
      `${server} answers with something else than JSON (HTTP ${status}), so it is not a Kubernetes API`,
    );
  }
  if (status !== 200) throw new ApiError(`HTTP ${status}${answer?.message ? `: ${answer.message}` : ""}`, status);
  if (!answer?.kind?.endsWith("List"))
    throw new ApiError(`${server} answers with JSON that is not a list of Kubernetes objects`);
  return Array.isArray(answer.items) ? answer.items : []; // a list of nothing may be null
}

/** What Node's names for failed connections mean here. */
const CODES: Record<string, (host: string) => string> = {
  ECONNREFUSED: () => "refuses the connection: nothing listens there",
  ECONNRESET: () => "resets the connection",
  ENOTFOUND: (host) => `cannot be found: no address is known for ${host}`,
  EAI_AGAIN: (host) => `cannot be found: the name server does not answer for ${host}`,
  EHOSTUNREACH: () => "cannot be reached: no route to it",
  ENETUNREACH: () => "cannot be reached: no network",
  CERT_HAS_EXPIRED: () => "has a certificate that has expired",
  EPROTO: () => "does not speak TLS",
};

/** Node's names for a certificate that the kubeconfig's authority did not sign. */
const FOREIGN = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_SIGNATURE_FAILURE/;

function unreachable(error: Error & { code?: string | number }, server: string, limit: number): string {
  const code = String(error.code ?? "");
  if (error.name === "TimeoutError" || error.name === "AbortError")
    return `${server} does not answer within ${limit / 1000} s`;
  if (FOREIGN.test(code))
    return `${server} has a certificate that the kubeconfig's authority has not signed: another cluster answers there, or the kubeconfig is of a former one (${code})`;
  return `${server} ${CODES[code]?.(new URL(server).hostname) ?? `does not answer: ${error.message}`}`;
}
