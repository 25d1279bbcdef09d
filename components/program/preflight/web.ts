import { factoryAt } from "../../recipe/facts/factory";
import { type Clock, pauseBefore, readRetryAfter } from "../../clients/clock";
import { defined } from "../../recipe/mapping";

/** Result of a request to a server. */
export type Answer =
  /** The server answered. `retryAfter` is the number of milliseconds until the server accepts the next request. */
  | { status: number; body: string; retryAfter?: number }
  /** The server does not answer. It would not answer Helm either, because Helm runs on the same computer. */
  | { silent: string }
  /**
   * This request cannot show whether the server answers other programs, e.g. because they use a proxy or trust more
   * certificates than Node does. The text is the reason.
   */
  | { unknown: string };

/** An answer in a few words, for messages. */
export function wordsOf(answer: Answer): string {
  if ("status" in answer) return `it answers ${answer.status}`;
  return "silent" in answer ? answer.silent : answer.unknown;
}

/**
 * Why a server gives no usable answer; undefined if the answer is usable, or if this is unknown. The codes 404 and 410
 * are no usable answer, because a repository that has moved gives them.
 */
export function silence(answer: Answer): string | undefined {
  if ("silent" in answer) return answer.silent;
  return "status" in answer && (answer.status === 404 || answer.status === 410)
    ? wordsOf(answer)
    : undefined;
}

/** Options of a request. */
export interface Asking {
  /** Media types. Default: any. */
  accept?: string;
  /** Default `GET`. */
  method?: "GET" | "HEAD";
  /** Time limit in milliseconds for one answer. Default 20 s. */
  limit?: number;
  /** Whether to follow a redirect. Default `follow`. */
  redirect?: "follow" | "manual";
  /** Whether to ask again if the server is busy or does not answer. Default true. */
  retry?: boolean;
}

/** Milliseconds before each retry, for a server that is busy or does not answer. */
const pauses = [1_000, 3_000, 10_000];

/**
 * Greatest number of retries for a host name that DNS does not know. One retry is useful, because one of several DNS
 * servers may not know the name yet.
 */
const UNKNOWN_NAME = 1;

/** Largest number of bytes that are read of an answer; the index of a chart repository may have megabytes. */
const longestBody = 32 * 2 ** 20;

/** Time limit in milliseconds for one answer. */
const LIMIT = 20_000;

/** Client for servers on the web. */
export interface Web {
  /**
   * Requests a URL; repeats the request if the server is busy or does not answer.
   *
   * @returns the answer's status and body, or why there is no answer. Never rejects.
   */
  get(url: string, options?: Asking): Promise<Answer>;
}

/** A client with Node's `fetch` and a limited number of retries. */
export class RealWeb implements Web {
  constructor(
    private readonly clock: Clock,
    private readonly environment: NodeJS.ProcessEnv,
  ) {}

  async get(url: string, options: Asking = {}): Promise<Answer> {
    if (goesThroughProxy(url, this.environment))
      return {
        unknown: "not asked, because this server is behind a proxy, and the check uses no proxy",
      };
    let answer = await once(url, options);
    for (const [tries, pause] of options.retry === false ? [] : pauses.entries()) {
      if (!("silent" in answer) && !("status" in answer && isBusy(answer.status))) break;
      if ("silent" in answer && answer.silent === "ENOTFOUND" && tries >= UNKNOWN_NAME) break;
      await this.clock.sleep(
        pauseBefore(pause, "status" in answer ? answer.retryAfter : undefined),
      );
      answer = await once(url, options);
    }
    return "status" in answer && isBusy(answer.status) ? { silent: wordsOf(answer) } : answer;
  }
}

const isBusy = (status: number): boolean => status >= 500 || status === 429;

async function once(
  url: string,
  { accept, method = "GET", limit = LIMIT, redirect = "follow" }: Asking,
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method,
      redirect,
      headers: accept === undefined ? {} : { accept },
      signal: AbortSignal.timeout(limit),
    });
    const retryAfter = readRetryAfter(response.headers.get("retry-after") ?? "");
    const body = await bodyOf(response);
    if (body === undefined)
      return { unknown: `the server's answer has more than ${longestBody >> 20} MiB` };
    return { status: response.status, body, ...defined({ retryAfter }) };
  } catch (error) {
    const { name, message, cause } = error as Error & {
      cause?: { code?: string; message?: string };
    };
    if (name === "TimeoutError") return { silent: `no answer within ${limit / 1_000} s` };
    const reason = cause?.code ?? cause?.message ?? message;
    // Node knows only its own list of certificates, so it may refuse one that this computer trusts.
    return /CERT|SSL|TLS|SELF_SIGNED|VERIFY/i.test(reason)
      ? { unknown: reason }
      : { silent: reason };
  }
}

/** Text of an answer; undefined if it is longer than the limit. */
async function bodyOf({ body }: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > longestBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Whether Go programs such as Helm would use a proxy for this URL. `fetch` uses no proxy. */
export function goesThroughProxy(url: string, environment: NodeJS.ProcessEnv): boolean {
  const { protocol, hostname } = new URL(url);
  const variable = (name: string): string | undefined =>
    environment[name.toUpperCase()] || environment[name] || undefined;
  if (variable(protocol === "https:" ? "https_proxy" : "http_proxy") === undefined) return false;
  if (/^(localhost|127\.|\[::1\])/.test(hostname)) return false; // golang.org/x/net/http/httpproxy, useProxy
  const direct = (variable("no_proxy") ?? "")
    .split(",")
    .map((entry) => entry.trim().replace(/^\*?\./, ""));
  return !direct.some(
    (entry) =>
      entry === "*" || hostname === entry || (entry !== "" && hostname.endsWith(`.${entry}`)),
  );
}

/** Addresses of servers. Environment variables may change them. */
export interface Places {
  /** URL of a chart repository or its mirror; undefined if the user has turned the check of charts off. */
  charts(repository: string): string | undefined;
  /** URL of the server to ask about an installer image with this host. */
  registry(host: string): string;
}

/**
 * Addresses of servers, which two environment variables may change: TALOS_GPU_CHARTS (a mirror with a folder for each
 * repository's address, or `none`) and TALOS_GPU_FACTORY.
 */
export function placesOf(environment: NodeJS.ProcessEnv): Places {
  const { TALOS_GPU_CHARTS: charts } = environment;
  const path = (repository: string): string => repository.replace(/^[a-z]+:\/\//, "");
  return {
    charts: (repository) => {
      if (charts === "none") return undefined;
      const base = charts ? `${charts.replace(/(?<!\/)\/+$/, "")}/${path(repository)}` : repository;
      return base.replace(/(?<!\/)\/+$/, "");
    },
    registry: (host) => factoryAt(`https://${host}`, environment),
  };
}
