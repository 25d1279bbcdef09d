import * as fs from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { isDeepStrictEqual } from "node:util";
import type { KubeConfig } from "@kubernetes/client-node";
import { certificateProblem } from "../certificates";
import { inTime } from "../clock";
import { redact } from "../../recipe/rules/redact";
import { defined } from "../../recipe/mapping";
import {
  answerProblem,
  connectionProblem,
  KubernetesError,
  strangerProblem,
  type Answer,
} from "./error";
import { execCredential, type ExecCluster, type ExecConfig } from "./exec-credential";
import { type KubeconfigCluster, type KubeconfigUser, readToken } from "./kubeconfig";

/** Milliseconds for one request, from its start to the end of the answer. */
const REQUEST = 30_000;
/**
 * Milliseconds after which an unused connection is given up: less than any machine takes to reboot, whatever it
 * leaves open.
 */
const UNUSED = 5_000;
/**
 * Milliseconds after which a token's file is read again. client-go reads it each minute, and counts a token as over
 * 10 s before that (client-go, transport/token_source.go, NewCachedFileTokenSource).
 */
const TOKEN_IS_FRESH = 50_000;
/** Most bytes that are read of one answer: more is no list that a cluster with GPUs has. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Fields of a kubeconfig that lead to an API server. */
export type Kubeconfig = Pick<
  KubeConfig,
  "applyToHTTPSOptions" | "getCurrentCluster" | "getCurrentContext" | "getCurrentUser"
>;

/** Identity of an object of the Kubernetes API. */
export interface ObjectKey {
  apiVersion: string;
  kind: string;
  name: string;
  /** Absent of an object that has none. */
  namespace?: string;
}

/** `Kind namespace/name`. */
export const titleOf = ({ kind, namespace, name }: ObjectKey): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;

/** How something is asked. */
export interface Asking {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: object;
  /** Media type of the body. Default JSON. */
  type?: "application/merge-patch+json" | "application/apply-patch+yaml";
  /** Media type of the answer. Default JSON. */
  accept?: string;
  /** Values for HTTP codes that are answers rather than errors. */
  instead?: Record<number, unknown>;
}

/**
 * The API server that a kubeconfig leads to, with whatever the kubeconfig can authenticate by. Each request has a
 * limit, and its error tells what a later try is worth.
 */
export class KubernetesApi {
  /** URL without a slash at its end. */
  readonly server: string;
  private readonly plugin: ExecConfig | undefined;
  /** Facts about the cluster that the plugin gets, if the kubeconfig asks for that. */
  private readonly pluginsCluster: KubeconfigCluster | undefined;
  /** When the credential ends that the plugin, or the token's file, gave. */
  private given: Promise<number> | undefined;
  /** Connections, which all requests share, and what they were made with. */
  private kept: https.Agent | undefined;
  private made: https.Agent["options"] | undefined;
  private readonly kinds = new Map<string, ApiResource>();

  /**
   * @param config is this client's own from now on.
   * @param secrets values that no message may hold.
   * @param limit milliseconds of a request, and of a credential plugin.
   */
  constructor(
    private readonly config: Kubeconfig,
    private readonly secrets: readonly string[] = [],
    private readonly limit = REQUEST,
  ) {
    const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()];
    this.server = cluster?.server?.replace(/\/$/, "") ?? "";
    // The client of Kubernetes refuses plain HTTP (`kubectl proxy`) unless verification is turned off for it.
    if (this.server.startsWith("http:")) Object.assign(cluster!, { skipTLSVerify: true });
    this.plugin = (user?.exec ?? undefined) as ExecConfig | undefined;
    if (this.plugin?.provideClusterInfo === true && cluster) this.pluginsCluster = cluster;
    if (user) Object.assign(user, { exec: undefined });
  }

  /** Content of the answer to a request. */
  async ask<T>(what: string, path: string, asking: Asking = {}): Promise<T | undefined> {
    const answer = await this.request(what, path, asking);
    const { instead = {} } = asking;
    if (answer.status in instead) return instead[answer.status] as T | undefined;
    try {
      return JSON.parse(answer.body) as T;
    } catch {
      if (answer.body.trimStart().startsWith("{"))
        throw new KubernetesError(
          "unreachable",
          what,
          `${this.server} ended its answer in the middle`,
        );
      throw strangerProblem(what, this.server, answer);
    }
  }

  /** Objects of a list; none where it is answered by something instead. */
  async list<T>(what: string, path: string, asking?: Asking): Promise<T[]> {
    const answer = await this.ask<{ items?: T[] | null }>(what, path, asking);
    if (answer === undefined) return [];
    if ("items" in answer) return answer.items ?? []; // a list of nothing may be null
    const words = `${this.server} answers with JSON that is not a list of Kubernetes objects`;
    throw new KubernetesError("refused", what, words);
  }

  /** Text of a path, such as a log. */
  async text(what: string, path: string): Promise<string> {
    return (await this.request(what, path, { accept: "*/*" })).body;
  }

  /** An object as it is; undefined where it, its namespace or its kind is not there. */
  async read<T extends object>(key: ObjectKey): Promise<T | undefined> {
    const path = await this.pathOf(key);
    return path === undefined
      ? undefined
      : this.ask<T>(titleOf(key), path, { instead: { 404: undefined } });
  }

  /** Deletes the object of this UID; no error if it is gone or was replaced meanwhile. */
  async deleteExactly(
    what: string,
    path: string,
    uid: string,
    propagationPolicy?: "Background" | "Foreground",
  ): Promise<void> {
    // All of it in the body: the API server reads the query's options only where there is no body (apiserver,
    // pkg/endpoints/handlers/delete.go), and a Job's pods are orphaned by default (registry/batch/job/strategy.go).
    const body = { preconditions: { uid }, ...defined({ propagationPolicy }) };
    await this.ask(what, path, {
      method: "DELETE",
      body,
      instead: { 404: undefined, 409: undefined },
    });
  }

  /**
   * Path of an object, or of all of its kind; undefined where the API server does not have the kind, such as a CRD's
   * before its chart.
   */
  async pathOf(key: Omit<ObjectKey, "name"> & { name?: string }): Promise<string | undefined> {
    const { apiVersion, kind, name, namespace } = key;
    const root = `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}`;
    const resource = this.kinds.get(`${root} ${kind}`) ?? (await this.resourceOf(root, kind));
    if (resource === undefined) return undefined;
    this.kinds.set(`${root} ${kind}`, resource);
    const among =
      namespace === undefined || !resource.namespaced ? root : `${root}/namespaces/${namespace}`;
    return `${among}/${resource.name}${name === undefined ? "" : `/${name}`}`;
  }

  private async resourceOf(root: string, kind: string): Promise<ApiResource | undefined> {
    const asking = { instead: { 404: undefined } };
    const found = await this.ask<{ resources: ApiResource[] }>(`kinds of ${root}`, root, asking);
    return found?.resources.find((one) => one.kind === kind && !one.name.includes("/"));
  }

  private async request(what: string, path: string, asking: Asking): Promise<Answer> {
    let attempt = await this.attempt(what, path, asking);
    if (attempt.answer.status === 401 && attempt.given !== undefined) {
      // A credential can be rotated or revoked before the time that the plugin told. The API server has done nothing
      // yet, so the same request goes out again. Of several requests that were refused, only the first has the plugin
      // run, or the token's file read.
      if (this.given === attempt.given) this.given = undefined;
      attempt = await this.attempt(what, path, asking);
    }
    const { answer, options } = attempt;
    if ((answer.status >= 200 && answer.status < 300) || answer.status in (asking.instead ?? {}))
      return answer;
    throw (
      (answer.status === 401 ? this.outOfForce(what, options) : undefined) ??
      answerProblem(what, this.server, answer, this.secrets)
    );
  }

  /** One try of a request, with what it was made by. */
  private async attempt(what: string, path: string, asking: Asking): Promise<Attempt> {
    const options = await this.options(what);
    const { given } = this;
    const answer = await this.send(`${this.server}${path}`, asking, options).catch(
      (error: Error) => {
        throw (
          this.outOfForce(what, options) ??
          connectionProblem(what, this.server, error, this.limit, this.secrets)
        );
      },
    );
    return { answer, options, given };
  }

  private send(url: string, asking: Asking, options: https.RequestOptions): Promise<Answer> {
    const { method = "GET", body, type, accept } = asking;
    const text = body && JSON.stringify(body);
    const headers = {
      ...(options.headers as http.OutgoingHttpHeaders | undefined),
      accept: accept ?? "application/json",
      "user-agent": "talos-gpu",
      ...(text === undefined
        ? {}
        : {
            "content-type": type ?? "application/json",
            "content-length": Buffer.byteLength(text),
          }),
    };
    const signal = AbortSignal.timeout(this.limit);
    return new Promise((resolve, reject) => {
      const { request } = url.startsWith("http:") ? http : https;
      const sent = request(url, { ...options, method, headers, signal }, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > MOST_BYTES) sent.destroy(new Error("the answer is too long"));
          else chunks.push(chunk);
        });
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, body: Buffer.concat(chunks).toString("utf8") });
        });
      });
      sent.on("error", reject);
      sent.end(text);
    });
  }

  private async options(what: string): Promise<https.RequestOptions> {
    const options: https.RequestOptions = {};
    try {
      if (this.server === "")
        throw new Error(
          `context ${this.config.getCurrentContext() || "(none)"} names no cluster with a server`,
        );
      if (!URL.canParse(this.server)) throw new Error(`the server ${this.server} is not a URL`);
      await this.authenticate();
      // An OIDC provider is asked for a new token.
      const late = (): Error => new Error(`no credentials within ${this.limit / 1000} s`);
      await inTime(this.config.applyToHTTPSOptions(options), this.limit, late);
    } catch (error) {
      throw new KubernetesError(
        "refused",
        what,
        redact(`kubeconfig: ${(error as Error).message}`, this.secrets),
      );
    }
    return { ...options, agent: this.shared(options.agent) };
  }

  /**
   * Gets the user's credential where there is none yet, or where its time is over: from the credential plugin, or
   * from the token's file.
   */
  private async authenticate(): Promise<void> {
    const get = this.source();
    if (get === undefined) return;
    if (this.given === undefined || (await this.given) < Date.now()) this.given = get();
    this.given.catch(() => (this.given = undefined));
    await this.given;
  }

  /** Gets a credential, and answers when it ends; undefined where the kubeconfig holds the credential itself. */
  private source(): (() => Promise<number>) | undefined {
    const user: KubeconfigUser | null = this.config.getCurrentUser();
    const { plugin } = this;
    if (plugin !== undefined) return () => this.runPlugin(plugin);
    if (user?.tokenFile === undefined) return undefined;
    return async () => {
      readToken(user);
      return Date.now() + TOKEN_IS_FRESH;
    };
  }

  private async runPlugin(plugin: ExecConfig): Promise<number> {
    const cluster = this.pluginsCluster && execCluster(this.pluginsCluster);
    const { token, expirationTimestamp, ...given } = await execCredential(
      plugin,
      this.limit,
      cluster,
    );
    const base64 = (pem: string | undefined) => pem && Buffer.from(pem).toString("base64");
    const [certData, keyData] = [base64(given.clientCertificateData), base64(given.clientKeyData)];
    Object.assign(this.config.getCurrentUser()!, defined({ token, certData, keyData }));
    return expirationTimestamp === undefined ? Infinity : Date.parse(expirationTimestamp);
  }

  /**
   * The client of Kubernetes makes connections of their own for each request (@kubernetes/client-node 1.4,
   * `createAgent`), for which both sides exchange keys. Another certificate, of a plugin that gives a new one now and
   * then, is not used on the connections of the old.
   */
  private shared(agent: https.RequestOptions["agent"]): https.RequestOptions["agent"] {
    if (!(agent instanceof https.Agent) || agent.constructor !== https.Agent) return agent; // a proxy's makes its connections itself
    if (this.kept === undefined || !isDeepStrictEqual(agent.options, this.made)) {
      this.made = agent.options;
      this.kept = new https.Agent({ ...agent.options, keepAlive: true, timeout: UNUSED });
    }
    return this.kept;
  }

  /** That the client's certificate is not in force: told in place of how the server refuses it. */
  private outOfForce(what: string, { cert }: https.RequestOptions): KubernetesError | undefined {
    const problem = cert === undefined ? undefined : certificateProblem(String(cert), new Date());
    if (problem === undefined) return undefined;
    const [user, context] = [
      this.config.getCurrentUser()?.name ?? "?",
      this.config.getCurrentContext(),
    ];
    const words = `kubeconfig: the client certificate of user ${user} (context ${context}) ${problem}`;
    return new KubernetesError("refused", what, words);
  }
}

/**
 * A cluster as a credential plugin gets it (client-go, tools/clientcmd/api/types.go and
 * pkg/apis/clientauthentication/types.go, Cluster).
 */
function execCluster(cluster: KubeconfigCluster): ExecCluster {
  const { caFile } = cluster;
  const caData = cluster.caData ?? (caFile && fs.readFileSync(caFile).toString("base64"));
  const more = defined({
    "tls-server-name": cluster.tlsServerName,
    "insecure-skip-tls-verify": cluster.skipTLSVerify || undefined,
    "certificate-authority-data": caData,
    "proxy-url": cluster.proxyUrl,
    config: cluster.execConfig,
  });
  return { server: cluster.server, ...more };
}

/** How the API server answers, and by which credentials it was asked. */
interface Attempt {
  answer: Answer;
  options: https.RequestOptions;
  /**
   * Source of the credential: a run of the plugin, or a read of the token's file. Undefined if the kubeconfig
   * contains it.
   */
  given: Promise<number> | undefined;
}

/** A kind as the API server tells it (meta/v1, APIResource). */
interface ApiResource {
  kind: string;
  /** Name of the resource; a subresource has a slash, e.g. `pods/log`. */
  name: string;
  namespaced: boolean;
}
