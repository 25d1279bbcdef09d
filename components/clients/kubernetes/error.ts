import type { IncomingMessage } from "node:http";
import { readRetryAfter } from "../clock";
import { CallError, type CallErrorKind } from "../failure";
import { redact } from "../../recipe/rules/redact";

/** An answer as it came. */
export interface Answer extends Pick<IncomingMessage, "headers"> {
  status: number;
  body: string;
}

/** A request that was not done. */
export class KubernetesError extends CallError {
  constructor(
    problem: CallErrorKind,
    what: string,
    /** Why, without what was asked. */
    readonly words: string,
    /** HTTP code; undefined where there is no answer. */
    readonly code?: number,
    /** Causes that the API server gives, in its own short words, e.g. `NamespaceTerminating`. */
    readonly reasons: readonly string[] = [],
    /** Whether the API server itself answered, rather than something before it that cannot reach it. */
    readonly byServer = false,
    retryAfter?: number,
  ) {
    super(problem, `Kubernetes: ${what}: ${words}`, retryAfter);
  }
}

/** Answer of the API server instead of the requested object (meta/v1 `Status`). */
interface Status {
  message: string;
  details?: { causes?: { reason?: string; message?: string }[]; retryAfterSeconds?: number };
}

/** Milliseconds after which a server wants to be asked again, by its header or by the details of a `Status`. */
const pauseOf = ({ headers }: Answer, status: Status | undefined): number | undefined =>
  readRetryAfter(headers["retry-after"] ?? String(status?.details?.retryAfterSeconds ?? ""));

/**
 * An answer that is no success. With 429 the API server asks for another try: it has more requests than it serves, or
 * answers no lists yet, since it has just started (Kubernetes' KEP-4568, "Reject the rest of list requests").
 * client-go tries again, too.
 */
export function answerProblem(
  what: string,
  server: string,
  answer: Answer,
  secrets: readonly string[],
): KubernetesError {
  const { status: code, body } = answer;
  const problem = code === 429 ? "busy" : code >= 500 ? "unreachable" : "refused";
  const status = statusOf(body);
  const causes = status?.details?.causes ?? [];
  if (status === undefined && code !== 401) return strangerProblem(what, server, answer, problem);
  const said = [status?.message ?? "", ...causes.flatMap(({ message }) => message ?? [])].join(" ");
  const words =
    code === 401 ? `${server} does not know the credentials (HTTP 401)` : redact(said, secrets);
  const reasons = causes.flatMap(({ reason }) => reason ?? []);
  return new KubernetesError(
    problem,
    what,
    words,
    code,
    reasons,
    status !== undefined,
    pauseOf(answer, status),
  );
}

/** An answer that is none of the Kubernetes API's. */
export function strangerProblem(
  what: string,
  server: string,
  answer: Answer,
  problem: CallErrorKind = "refused",
): KubernetesError {
  const words = strangerWords(server, answer);
  const pause = pauseOf(answer, undefined);
  return new KubernetesError(problem, what, words, answer.status, [], false, pause);
}

/** Description of a server that answered instead of a Kubernetes API. */
function strangerWords(server: string, { status, headers, body }: Answer): string {
  if (status >= 300 && status < 400)
    return `${server} redirects to ${headers.location ?? "elsewhere"}: a login page or a proxy stands before the API`;
  if (/html/.test(headers["content-type"] ?? "") || /^\s*<(!doctype|html)/i.test(body))
    return `${server} answers with a web page (HTTP ${status}): a login page or a proxy stands there, not the Kubernetes API`;
  return `${server} answers with something else than Kubernetes' JSON (HTTP ${status})`;
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
 * Errors of the connection that pass: Node's codes of libuv and of its HTTP client (Node 20, lib/internal/errors.js;
 * uv-errno), and what they mean. A name that is not known is among them: a router or DNS server may be a machine of
 * this very cluster, and each wait has a limit.
 */
const passing: Record<string, string> = {
  ECONNREFUSED: "refuses the connection: nothing listens there",
  ECONNRESET: "resets the connection",
  ECONNABORTED: "ends the connection",
  EPIPE: "ends the connection",
  ETIMEDOUT: "does not answer",
  EHOSTUNREACH: "cannot be reached: no route to it",
  EHOSTDOWN: "cannot be reached: it is down",
  ENETUNREACH: "cannot be reached: no network",
  ENETDOWN: "cannot be reached: no network",
  ENOTFOUND: "cannot be found: no address is known for its name",
  EAI_AGAIN: "cannot be found: the name server does not answer",
  CERT_NOT_YET_VALID: "has a certificate that is not valid yet",
};

/** Those that do not pass. */
const lasting: Record<string, string> = {
  CERT_HAS_EXPIRED: "has a certificate that has expired",
  EPROTO: "does not speak TLS",
};

/** Node's names for a certificate that the kubeconfig's authority did not sign. */
const foreign = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_SIGNATURE_FAILURE/;

/**
 * No answer. The list has the errors that a later try may not meet; any other is a fault of the kubeconfig and is
 * reported at once.
 */
export function connectionProblem(
  what: string,
  server: string,
  error: NodeJS.ErrnoException,
  limit: number,
  secrets: readonly string[],
): KubernetesError {
  const { code = "" } = error;
  if (/^(Timeout|Abort)Error$/.test(error.name))
    return new KubernetesError(
      "unreachable",
      what,
      `${server} does not answer within ${limit / 1000} s`,
    );
  const known = passing[code] ?? lasting[code];
  const words = foreign.test(code)
    ? `has a certificate that the kubeconfig's authority has not signed: another cluster answers there, or the kubeconfig is of a former one (${code})`
    : (known ?? `does not answer: ${redact(error.message, secrets)}`);
  return new KubernetesError(
    code in passing ? "unreachable" : "refused",
    what,
    `${server} ${words}`,
  );
}
