import type { IncomingMessage } from "node:http";
import { readRetryAfter } from "../clock";
import { CallError, type CallErrorKind } from "../failure";
import { redact } from "../../recipe/rules/redact";

/** An HTTP answer. */
export interface Answer extends Pick<IncomingMessage, "headers"> {
  status: number;
  body: string;
}

/** Error about a failed request. */
export class KubernetesError extends CallError {
  constructor(
    problem: CallErrorKind,
    description: string,
    /** The reason, without the name of the request. */
    readonly words: string,
    /** HTTP code; undefined without an answer. */
    readonly code?: number,
    /** Reasons in the API server's answer, e.g. `NamespaceTerminating`. */
    readonly reasons: readonly string[] = [],
    /**
     * Whether the answer is a `Status`: the API server answers so once it has looked at the request. A proxy answers
     * without a `Status`. So does an API server that is overloaded or shuts down.
     */
    readonly hasStatus = false,
    retryAfter?: number,
  ) {
    super(problem, `Kubernetes: ${description}: ${words}`, retryAfter);
  }
}

/** Answer of the API server instead of the requested object (meta/v1 `Status`). */
interface Status {
  message: string;
  details?: { causes?: { reason?: string; message?: string }[]; retryAfterSeconds?: number };
}

/** Milliseconds until the server accepts the next request, from its header or from the details of a `Status`. */
const pauseOf = ({ headers }: Answer, status: Status | undefined): number | undefined =>
  readRetryAfter(headers["retry-after"] ?? String(status?.details?.retryAfterSeconds ?? ""));

/**
 * Error for an answer that is not a success. With 429 the API server asks for a retry: it has too many requests, or has
 * just started and does not answer lists yet (Kubernetes' KEP-4568, "Reject the rest of list requests"). client-go
 * retries as well.
 */
export function answerProblem(
  description: string,
  server: string,
  answer: Answer,
  secrets: readonly string[],
): KubernetesError {
  const { status: code, body } = answer;
  const problem = code === 429 ? "busy" : code >= 500 ? "unreachable" : "refused";
  const status = statusOf(body);
  const causes = status?.details?.causes ?? [];
  if (status === undefined && code !== 401)
    return unexpectedAnswer(description, server, answer, problem);
  const messages = [status?.message ?? "", ...causes.flatMap(({ message }) => message ?? [])].join(
    " ",
  );
  const words =
    code === 401
      ? `${server} does not accept the credentials (HTTP 401)`
      : redact(messages, secrets);
  const reasons = causes.flatMap(({ reason }) => reason ?? []);
  return new KubernetesError(
    problem,
    description,
    words,
    code,
    reasons,
    status !== undefined,
    pauseOf(answer, status),
  );
}

/** Error for an answer that does not come from a Kubernetes API. */
export function unexpectedAnswer(
  description: string,
  server: string,
  answer: Answer,
  problem: CallErrorKind = "refused",
): KubernetesError {
  const words = unexpectedAnswerText(server, answer);
  const pause = pauseOf(answer, undefined);
  return new KubernetesError(problem, description, words, answer.status, [], false, pause);
}

/** Description of a server that answered instead of a Kubernetes API. */
function unexpectedAnswerText(server: string, { status, headers, body }: Answer): string {
  if (status >= 300 && status < 400)
    return `${server} redirects to ${headers.location ?? "elsewhere"}: a login page or a proxy is in front of the API`;
  if (/html/.test(headers["content-type"] ?? "") || /^\s*<(!doctype|html)/i.test(body))
    return `${server} answers with a web page (HTTP ${status}): a login page or a proxy answers, not the Kubernetes API`;
  if (status === 429) return `${server} takes no more requests for now (HTTP 429)`;
  return `${server} does not answer with Kubernetes' JSON (HTTP ${status})`;
}

function statusOf(body: string): Status | undefined {
  try {
    const status = JSON.parse(body) as Partial<Status> | null;
    return typeof status?.message === "string" ? (status as Status) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Messages for temporary connection errors, by the codes of libuv and of Node's HTTP client (Node 20,
 * lib/internal/errors.js; uv-errno). An unknown host name counts as temporary: the router or DNS server may be a
 * machine of this cluster, and each wait has a limit.
 */
const passing: Record<string, string> = {
  ECONNREFUSED: "refuses the connection: no program listens there",
  ECONNRESET: "resets the connection",
  ECONNABORTED: "closes the connection",
  EPIPE: "closes the connection",
  ETIMEDOUT: "does not answer",
  EHOSTUNREACH: "cannot be reached: there is no route to it",
  EHOSTDOWN: "cannot be reached: it is down",
  ENETUNREACH: "cannot be reached: there is no network",
  ENETDOWN: "cannot be reached: the network is down",
  ENOTFOUND: "cannot be found: DNS knows no address for its name",
  EAI_AGAIN: "cannot be found: the DNS server does not answer",
  CERT_NOT_YET_VALID: "has a certificate that is not valid yet",
};

/** Messages for permanent connection errors. */
const lasting: Record<string, string> = {
  CERT_HAS_EXPIRED: "has a certificate that has expired",
  EPROTO: "does not speak TLS",
};

/** Node's codes for a certificate that the kubeconfig's authority did not sign. */
const foreign = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_SIGNATURE_FAILURE/;

/**
 * Error for a request without an answer. An error in `passing` may disappear with a retry. Any other error is reported
 * at once, because a retry would not help.
 */
export function connectionProblem(
  description: string,
  server: string,
  error: NodeJS.ErrnoException,
  limit: number,
  secrets: readonly string[],
): KubernetesError {
  const { code = "" } = error;
  if (/^(Timeout|Abort)Error$/.test(error.name))
    return new KubernetesError(
      "unreachable",
      description,
      `${server} does not answer within ${limit / 1000} s`,
    );
  const knownProblem = passing[code] ?? lasting[code];
  const words = foreign.test(code)
    ? `has a certificate that the kubeconfig's CA did not sign: the server belongs to another cluster, or the cluster was created again (${code})`
    : (knownProblem ?? `does not answer: ${redact(error.message, secrets)}`);
  return new KubernetesError(
    code in passing ? "unreachable" : "refused",
    description,
    `${server} ${words}`,
  );
}
