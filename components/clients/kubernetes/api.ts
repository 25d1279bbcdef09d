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
  unexpectedAnswer,
  type Answer,
} from "./error";
import { execCredential, type ExecCluster, type ExecConfig } from "./exec-credential";
import { type KubeconfigCluster, type KubeconfigUser, readToken } from "./kubeconfig";

/** Time limit in milliseconds for one request, from its start to the end of the answer. */
const REQUEST = 30_000;
/**
 * Milliseconds after which an unused connection is closed. This is shorter than a reboot, because a rebooting machine
 * may leave the connection open.
 */
const UNUSED = 5_000;
/**
 * Milliseconds after which a token's file is read again. client-go reads the file every minute, and treats a token as
 * expired 10 s earlier (client-go, transport/token_source.go, NewCachedFileTokenSource).
 */
const TOKEN_IS_FRESH = 50_000;
/** Greatest size in bytes of an answer that is read. No list of objects in a cluster with GPUs is longer. */
const MOST_BYTES = 256 * 1024 * 1024;

/** The methods of a kubeconfig that give access to an API server. */
export type Kubeconfig = Pick<
  KubeConfig,
  "applyToHTTPSOptions" | "getCurrentCluster" | "getCurrentContext" | "getCurrentUser"
>;

/** Identity of an object of the Kubernetes API. */
export interface ObjectKey {
  apiVersion: string;
  kind: string;
  name: string;
  /** Absent for an object without a namespace. */
  namespace?: string;
}

/** Title of an object for messages: `Kind namespace/name`. */
export const titleOf = ({ kind, namespace, name }: ObjectKey): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;

/** Options of a request. */
export interface RequestOptions {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: object;
  /** Media type of the body. Default JSON. */
  type?: "application/merge-patch+json" | "application/apply-patch+yaml";
  /** Media type of the answer. Default JSON. */
  accept?: string;
  /** HTTP codes that are no failure here, each with the value that the request returns, e.g. `{ 404: undefined }`. */
  instead?: Record<number, unknown>;
}

/**
 * Client for the API server of a kubeconfig, with any way of authentication that a kubeconfig can name. Each request
 * has a time limit, and the error of a failed request says whether a retry may help.
 */
export class KubernetesApi {
  /** URL of the API server, without a slash at its end. */
  readonly server: string;
  private readonly plugin: ExecConfig | undefined;
  /** Facts about the cluster for the credential plugin, if the kubeconfig sets `provideClusterInfo`. */
  private readonly pluginsCluster: KubeconfigCluster | undefined;
  /** Expiry of the credential from the plugin or from the token's file. */
  private credentialExpiry: Promise<number> | undefined;
  /** Connections, which all requests share. */
  private sharedAgent: https.Agent | undefined;
  private sharedAgentOptions: https.Agent["options"] | undefined;
  private readonly kinds = new Map<string, ApiResource>();

  /**
   * @param config parsed kubeconfig, which this client may change.
   * @param secrets values that no message may contain.
   * @param limit time limit in milliseconds for a request, and for a run of the credential plugin.
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

  /**
   * Sends a request.
   *
   * @returns the content of the answer.
   */
  async ask<T>(
    description: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<T | undefined> {
    const answer = await this.request(description, path, options);
    const { instead = {} } = options;
    if (answer.status in instead) return instead[answer.status] as T | undefined;
    try {
      return JSON.parse(answer.body) as T;
    } catch {
      if (answer.body.trimStart().startsWith("{"))
        throw new KubernetesError(
          "unreachable",
          description,
          `${this.server} ended its answer in the middle`,
        );
      throw unexpectedAnswer(description, this.server, answer);
    }
  }

  /** Objects of a list; empty if `instead` replaces the answer. */
  async list<T>(description: string, path: string, options?: RequestOptions): Promise<T[]> {
    const answer = await this.ask<{ items?: T[] | null }>(description, path, options);
    if (answer === undefined) return [];
    if ("items" in answer) return answer.items ?? []; // an empty list may be null
    const words = `${this.server} answers with JSON that is not a list of Kubernetes objects`;
    throw new KubernetesError("refused", description, words);
  }

  /** The answer of a path as text, e.g. a log. */
  async text(description: string, path: string): Promise<string> {
    return (await this.request(description, path, { accept: "*/*" })).body;
  }

  /** Current state of an object; undefined if the object, its namespace or its kind does not exist. */
  async read<T extends object>(key: ObjectKey): Promise<T | undefined> {
    const path = await this.pathOf(key);
    return path === undefined
      ? undefined
      : this.ask<T>(titleOf(key), path, { instead: { 404: undefined } });
  }

  /** Deletes the object with this UID; no error if the object no longer exists, or if a new object has replaced it. */
  async deleteExactly(
    description: string,
    path: string,
    uid: string,
    propagationPolicy?: "Background" | "Foreground",
  ): Promise<void> {
    // All options are in the body: the API server reads them from the query only if there is no body (apiserver,
    // pkg/endpoints/handlers/delete.go), and by default it keeps a Job's pods (registry/batch/job/strategy.go).
    const body = { preconditions: { uid }, ...defined({ propagationPolicy }) };
    await this.ask(description, path, {
      method: "DELETE",
      body,
      instead: { 404: undefined, 409: undefined },
    });
  }

  /**
   * Path of an object, or of all objects of its kind; undefined if the API server lacks the kind, e.g. because a
   * chart's CRD is not installed yet.
   */
  async pathOf(key: Omit<ObjectKey, "name"> & { name?: string }): Promise<string | undefined> {
    const { apiVersion, kind, name, namespace } = key;
    const root = `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}`;
    const resource = this.kinds.get(`${root} ${kind}`) ?? (await this.resourceOf(root, kind));
    if (resource === undefined) return undefined;
    this.kinds.set(`${root} ${kind}`, resource);
    const base =
      namespace === undefined || !resource.namespaced ? root : `${root}/namespaces/${namespace}`;
    return `${base}/${resource.name}${name === undefined ? "" : `/${name}`}`;
  }

  private async resourceOf(root: string, kind: string): Promise<ApiResource | undefined> {
    const options = { instead: { 404: undefined } };
    const resourceList = await this.ask<{ resources: ApiResource[] }>(
      `kinds of ${root}`,
      root,
      options,
    );
    return resourceList?.resources.find(
      (candidate) => candidate.kind === kind && !candidate.name.includes("/"),
    );
  }

  private async request(
    description: string,
    path: string,
    requestOptions: RequestOptions,
  ): Promise<Answer> {
    let attempt = await this.attempt(description, path, requestOptions);
    if (attempt.answer.status === 401 && attempt.credentialExpiry !== undefined) {
      // A credential may be rotated or revoked before its expiry. The API server has not acted yet, so the same request
      // is sent again. If several requests were refused, only the first runs the plugin or reads the token's file.
      if (this.credentialExpiry === attempt.credentialExpiry) this.credentialExpiry = undefined;
      attempt = await this.attempt(description, path, requestOptions);
    }
    const { answer, options } = attempt;
    if (
      (answer.status >= 200 && answer.status < 300) ||
      answer.status in (requestOptions.instead ?? {})
    )
      return answer;
    throw (
      (answer.status === 401 ? this.expiredCertificateError(description, options) : undefined) ??
      answerProblem(description, this.server, answer, this.secrets)
    );
  }

  /** One attempt of a request, with the credential that it used. */
  private async attempt(
    description: string,
    path: string,
    requestOptions: RequestOptions,
  ): Promise<Attempt> {
    const options = await this.options(description);
    const { credentialExpiry: usedCredential } = this;
    const answer = await this.send(`${this.server}${path}`, requestOptions, options).catch(
      (error: Error) => {
        throw (
          this.expiredCertificateError(description, options) ??
          connectionProblem(description, this.server, error, this.limit, this.secrets)
        );
      },
    );
    return { answer, options, credentialExpiry: usedCredential };
  }

  private send(
    url: string,
    requestOptions: RequestOptions,
    options: https.RequestOptions,
  ): Promise<Answer> {
    const { method = "GET", body, type, accept } = requestOptions;
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
      const clientRequest = request(url, { ...options, method, headers, signal }, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > MOST_BYTES) clientRequest.destroy(new Error("the answer is too long"));
          else chunks.push(chunk);
        });
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, body: Buffer.concat(chunks).toString("utf8") });
        });
      });
      clientRequest.on("error", reject);
      clientRequest.end(text);
    });
  }

  private async options(description: string): Promise<https.RequestOptions> {
    const options: https.RequestOptions = {};
    try {
      if (this.server === "")
        throw new Error(
          `context ${this.config.getCurrentContext() || "(none)"} has no cluster with a server`,
        );
      if (!URL.canParse(this.server)) throw new Error(`the server ${this.server} is not a URL`);
      await this.authenticate();
      // This may ask an OIDC provider for a new token.
      const timeoutError = (): Error => new Error(`no credentials within ${this.limit / 1000} s`);
      await inTime(this.config.applyToHTTPSOptions(options), this.limit, timeoutError);
    } catch (error) {
      throw new KubernetesError(
        "refused",
        description,
        redact(`kubeconfig: ${(error as Error).message}`, this.secrets),
      );
    }
    return { ...options, agent: this.sharedAgentOf(options.agent) };
  }

  /**
   * Gets the user's credential from the credential plugin or from the token's file, if there is no credential yet, or
   * the credential has expired.
   */
  private async authenticate(): Promise<void> {
    const readCredential = this.source();
    if (readCredential === undefined) return;
    if (this.credentialExpiry === undefined || (await this.credentialExpiry) < Date.now())
      this.credentialExpiry = readCredential();
    this.credentialExpiry.catch(() => (this.credentialExpiry = undefined));
    await this.credentialExpiry;
  }

  /**
   * Function that gets a credential and returns its expiry; undefined if the kubeconfig itself contains the credential.
   */
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
    const { token, expirationTimestamp, ...certificate } = await execCredential(
      plugin,
      this.limit,
      cluster,
    );
    const base64 = (pem: string | undefined) => pem && Buffer.from(pem).toString("base64");
    const [certData, keyData] = [
      base64(certificate.clientCertificateData),
      base64(certificate.clientKeyData),
    ];
    Object.assign(this.config.getCurrentUser()!, defined({ token, certData, keyData }));
    return expirationTimestamp === undefined ? Infinity : Date.parse(expirationTimestamp);
  }

  /**
   * One agent for all requests. The Kubernetes client would open a new connection for each request
   * (@kubernetes/client-node 1.4, `createAgent`), and each connection costs a key exchange. After a change of the
   * client certificate, e.g. by a credential plugin, a new agent opens new connections.
   */
  private sharedAgentOf(agent: https.RequestOptions["agent"]): https.RequestOptions["agent"] {
    // A proxy's agent manages its own connections.
    if (!(agent instanceof https.Agent) || agent.constructor !== https.Agent) return agent;
    if (
      this.sharedAgent === undefined ||
      !isDeepStrictEqual(agent.options, this.sharedAgentOptions)
    ) {
      this.sharedAgentOptions = agent.options;
      this.sharedAgent = new https.Agent({ ...agent.options, keepAlive: true, timeout: UNUSED });
    }
    return this.sharedAgent;
  }

  /** Error about a client certificate that is not valid now, instead of the server's refusal, which says less. */
  private expiredCertificateError(
    description: string,
    { cert }: https.RequestOptions,
  ): KubernetesError | undefined {
    const problem = cert === undefined ? undefined : certificateProblem(String(cert), new Date());
    if (problem === undefined) return undefined;
    const [user, context] = [
      this.config.getCurrentUser()?.name ?? "?",
      this.config.getCurrentContext(),
    ];
    const words = `kubeconfig: the client certificate of user ${user} (context ${context}) ${problem}`;
    return new KubernetesError("refused", description, words);
  }
}

/**
 * The cluster of a kubeconfig in the form that a credential plugin receives (client-go, tools/clientcmd/api/types.go
 * and pkg/apis/clientauthentication/types.go, Cluster).
 */
function execCluster(cluster: KubeconfigCluster): ExecCluster {
  const { caFile } = cluster;
  const caData = cluster.caData ?? (caFile && fs.readFileSync(caFile).toString("base64"));
  const optional = defined({
    "tls-server-name": cluster.tlsServerName,
    "insecure-skip-tls-verify": cluster.skipTLSVerify || undefined,
    "certificate-authority-data": caData,
    "proxy-url": cluster.proxyUrl,
    config: cluster.execConfig,
  });
  return { server: cluster.server, ...optional };
}

/** An answer of the API server, with the credentials that the request used. */
interface Attempt {
  answer: Answer;
  options: https.RequestOptions;
  /**
   * Expiry of the credential that the request used. The promise also identifies the credential, because each run of the
   * credential plugin, and each read of the token's file, makes a new promise. Undefined if the kubeconfig itself
   * contains the credential.
   */
  credentialExpiry: Promise<number> | undefined;
}

/** A kind in the API server's discovery (meta/v1, APIResource). */
interface ApiResource {
  kind: string;
  /** Name of the resource; a subresource has a slash, e.g. `pods/log`. */
  name: string;
  namespaced: boolean;
}
