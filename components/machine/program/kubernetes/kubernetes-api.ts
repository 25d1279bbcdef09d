import type { CoreV1Api, KubeConfig, V1Node, V1Pod } from "@kubernetes/client-node";
import { formatDuration } from "../../duration";
import { CallError, redact } from "../failure";
import { client } from "./client";

/** Milliseconds for one request. */
const REQUEST = 30_000;

/** Requests to Kubernetes, each with a limit, and with errors that tell what a later try is worth. */
export abstract class KubernetesApi {
  protected readonly core: CoreV1Api;

  constructor(
    config: KubeConfig,
    private readonly secrets: readonly string[],
  ) {
    this.core = config.makeApiClient(client().CoreV1Api);
  }

  /** A node; undefined when there is none of this name. */
  protected readNode(name: string): Promise<V1Node | undefined> {
    return this.call(`node ${name}`, () => this.core.readNode({ name }), { 404: undefined });
  }

  /** All pods of a node. */
  protected async listPodsOn(node: string): Promise<V1Pod[]> {
    const request = () => this.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}` });
    return (await this.call(`pods of ${node}`, request))!.items;
  }

  /** One request with a limit. `instead` gives values for HTTP codes that are answers rather than errors. */
  protected async call<T>(
    what: string,
    request: () => Promise<T>,
    instead: Record<number, any> = {},
  ): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new CallError("unreachable", `Kubernetes: ${what}: no answer within ${formatDuration(REQUEST)}`)),
        REQUEST,
      );
    });
    try {
      return await Promise.race([request(), limit]);
    } catch (error) {
      if (error instanceof CallError) throw error;
      const code = (error as { code?: unknown }).code;
      if (typeof code === "number" && code in instead) return instead[code];
      throw this.translate(what, error, code);
    } finally {
      clearTimeout(timer);
    }
  }

  private translate(what: string, error: unknown, code: unknown): CallError {
    const message = redact(messageOf(error), this.secrets);
    if (code === 429) return new Refused(429, message);
    const transient = typeof code === "number" ? code >= 500 : !/certificate|self.signed|x509|ENOTFOUND/i.test(message);
    return new CallError(transient ? "unreachable" : "refused", `Kubernetes: ${what}: ${message}`);
  }
}

/** A request that the API server refused, with its HTTP code. */
export class Refused extends CallError {
  constructor(
    public readonly code: number,
    message: string,
  ) {
    super("refused", message);
  }
}

/** The API's own words when there are some. */
function messageOf(error: unknown): string {
  const body = (error as { body?: unknown }).body;
  try {
    const status = (typeof body === "string" ? JSON.parse(body) : body) as
      { message?: string; details?: { causes?: { message?: string }[] } } | undefined;
    const causes = (status?.details?.causes ?? [])
      .map(({ message }) => message)
      .filter((message) => message !== undefined);
    if (status?.message !== undefined) return [status.message, ...causes].join(" ");
  } catch {
    // Not a Status object.
  }
  return error instanceof Error
    ? (error.message.split("\n").find((line) => line.trim() !== "") ?? error.name)
    : String(error);
}
