import { formatDuration } from "../../recipe/rules/duration";
import { inTime } from "../clock";
import { CallError, redact, type CallProblem } from "../failure";

/** Milliseconds for one request. */
const REQUEST = 30_000;

/**
 * One request to Kubernetes with a limit, whose errors tell what a later try is worth.
 *
 * @param secrets values that no message may hold.
 * @param instead values for HTTP codes that are answers rather than errors.
 */
export async function callKubernetes<T>(
  secrets: readonly string[],
  what: string,
  request: () => Promise<T>,
  instead: Record<number, any> = {},
): Promise<T | undefined> {
  const late = (): Error =>
    new CallError("unreachable", `Kubernetes: ${what}: no answer within ${formatDuration(REQUEST)}`);
  try {
    return await inTime(request(), REQUEST, late);
  } catch (error) {
    if (error instanceof CallError) throw error;
    const code = (error as { code?: unknown }).code;
    if (typeof code === "number" && code in instead) return instead[code];
    throw typeof code === "number" ? answered(secrets, what, error, code) : unanswered(secrets, what, error);
  }
}

function answered(secrets: readonly string[], what: string, error: unknown, code: number): CallError {
  const status = statusOf(error);
  const words = redact(messageOf(error, status), secrets);
  const reasons = (status?.details?.causes ?? []).flatMap(({ reason }) => reason ?? []);
  return new Answered(`Kubernetes: ${what}: ${words}`, code, words, reasons, status !== undefined);
}

/** No HTTP answer: what a later try may get past is listed; all else is a fault of the credentials, or of this program, and is told at once. */
function unanswered(secrets: readonly string[], what: string, error: unknown): Error {
  const words = redact(messageOf(error, undefined), secrets);
  const missing = /^spawn (\S+) ENOENT/.exec(words)?.[1];
  if (missing !== undefined)
    return new CallError(
      "refused",
      `Kubernetes: ${what}: the kubeconfig asks ${missing} for credentials (\`exec\`), and there is no such program; install it, or give a kubeconfig with a certificate or token`,
    );
  if (passes(error)) return new CallError("unreachable", `Kubernetes: ${what}: ${words}`);
  // Errors of the language are this program's own, and their stack tells where; Node's have a code, as that of an address that is no URL.
  const isOurs = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  if (isOurs && !("code" in error)) return error;
  return new CallError("refused", `Kubernetes: ${what}: ${words}`);
}

/**
 * Errors of the connection that pass: Node's codes of libuv and of its HTTP client (Node 20, lib/internal/errors.js; uv-errno). A name that
 * is not known (ENOTFOUND) is among them: a router or DNS server may be a machine of this very cluster, and each wait has a limit.
 */
const passing = new Set([
  ...[
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EPIPE",
    "ETIMEDOUT",
    "ESOCKETTIMEDOUT",
    "EHOSTUNREACH",
    "EHOSTDOWN",
  ],
  ...["ENETUNREACH", "ENETDOWN", "EAI_AGAIN", "ENOTFOUND", "ERR_STREAM_PREMATURE_CLOSE", "UND_ERR_SOCKET"],
]);

/** Whether a later try may succeed. A client may wrap the error of the connection, or tell of it in words alone. */
function passes(error: unknown): boolean {
  const { code, cause, message = "" } = error as { code?: unknown; cause?: unknown; message?: string };
  if (typeof code === "string" && passing.has(code)) return true;
  if (/socket hang up|network timeout|premature close|certificate is not yet valid/i.test(message)) return true;
  return cause !== undefined && cause !== null && passes(cause);
}

/**
 * What a code tells of a later try. With 429 the API server asks for one: it has more requests than it serves, or answers no lists
 * yet, since it has just started (Kubernetes' KEP-4568, "Reject the rest of list requests"). client-go tries again, too.
 */
function problemOf(code: number): CallProblem {
  if (code === 429) return "busy";
  return code >= 500 ? "unreachable" : "refused";
}

/** A request that was answered, but not done. */
export class Answered extends CallError {
  constructor(
    message: string,
    /** HTTP code. */
    readonly code: number,
    /** What the answer says, without what was asked. */
    readonly words: string,
    /** Causes that the API server gives, in its own short words, e.g. `NamespaceTerminating`. */
    readonly reasons: readonly string[],
    /** Whether the API server itself answered, rather than something before it that cannot reach it. */
    readonly byServer: boolean,
  ) {
    super(problemOf(code), message);
  }
}

/** What the API server sends in place of what it was asked for (meta/v1 `Status`). */
interface Status {
  message: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

function statusOf(error: unknown): Status | undefined {
  const body = (error as { body?: unknown }).body;
  try {
    const status = (typeof body === "string" ? JSON.parse(body) : body) as Partial<Status> | null | undefined;
    return typeof status?.message === "string" ? (status as Status) : undefined;
  } catch {
    return undefined;
  }
}

/** The API's own words when there are some. */
function messageOf(error: unknown, status: Status | undefined): string {
  if (status !== undefined) {
    const causes = (status.details?.causes ?? []).flatMap(({ message }) => message ?? []);
    return [status.message, ...causes].join(" ");
  }
  return error instanceof Error
    ? (error.message.split("\n").find((line) => line.trim() !== "") ?? error.name)
    : String(error);
}
