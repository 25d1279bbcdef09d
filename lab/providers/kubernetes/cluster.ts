import { Api, ApiError, isNotFound, type KubernetesObject } from "./api";
import { type Access, readKubeconfig } from "./kubeconfig";

/** What the API server says of a kind. */
interface Kind {
  readonly plural: string;
  readonly namespaced: boolean;
}

/** How an apply is done. */
export interface ApplyOptions {
  /** Owner of the fields, one per resource of the program. */
  readonly fieldManager: string;
  /** Takes fields from other owners instead of failing. */
  readonly force: boolean;
  /** Only asks what would come out. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/** Objects of one cluster. */
export class Cluster {
  readonly api: Api;
  private readonly kinds = new Map<string, Promise<Map<string, Kind>>>();

  constructor(readonly access: Access) {
    this.api = new Api(access);
  }

  /** Opens the cluster of a kubeconfig (contents or path). */
  static of(kubeconfig: string, context?: string): Cluster {
    return new Cluster(readKubeconfig(kubeconfig, context));
  }

  /** Whether the kind has namespaces. Error: `ApiError` 404 when the API server does not have the kind (yet). */
  async namespaced(object: KubernetesObject): Promise<boolean> {
    return (await this.kind(object)).namespaced;
  }

  /** What the API server calls the kind in its messages, e.g. `jobs.batch`. */
  async resourceOf(object: KubernetesObject): Promise<string> {
    const [group, version] = (object.apiVersion ?? "").split("/");
    return `${(await this.kind(object)).plural}${version === undefined ? "" : `.${group}`}`;
  }

  /** Path of an object, or with `collection` of the list that it is in. */
  async path(object: KubernetesObject, collection = false): Promise<string> {
    const { plural, namespaced } = await this.kind(object);
    const namespace = namespaced ? `/namespaces/${object.metadata?.namespace ?? this.access.namespace}` : "";
    const name = collection ? "" : `/${encodeURIComponent(object.metadata?.name ?? "")}`;
    return `${groupPath(object.apiVersion ?? "")}${namespace}/${plural}${name}`;
  }

  /** Reads an object. Error: `ApiError` 404 when it is not there. */
  async get(object: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject> {
    return (await this.api.request({ method: "GET", path: await this.path(object), signal })).object;
  }

  /** Server-side apply. */
  async apply(object: KubernetesObject, options: ApplyOptions) {
    return this.api.request({
      method: "PATCH",
      path: await this.path(object),
      query: {
        fieldManager: options.fieldManager,
        force: String(options.force),
        fieldValidation: "Warn",
        dryRun: options.dryRun ? "All" : undefined,
      },
      // JSON is YAML, and the content type of an apply is YAML's
      contentType: "application/apply-patch+yaml",
      body: object,
      signal: options.signal,
    });
  }

  /**
   * Deletes; returns whether there was something to delete. `propagation` is the annotation
   * `pulumi.com/deletionPropagationPolicy`; dependents go first by default, as with the real provider
   * (pulumi-kubernetes provider/pkg/metadata/overrides.go).
   */
  async delete(object: KubernetesObject, propagation: string | undefined, signal: AbortSignal): Promise<boolean> {
    try {
      const propagationPolicy = policies[propagation?.toLowerCase() ?? ""] ?? "Foreground";
      const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy };
      await this.api.request({ method: "DELETE", path: await this.path(object), body, signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Objects of a collection, with the version that a watch goes on from. */
  async list(path: string, query: Record<string, string | undefined>, signal: AbortSignal) {
    const { object } = await this.api.request({ method: "GET", path, query, signal });
    return { items: (object["items"] ?? []) as KubernetesObject[], version: object.metadata?.resourceVersion ?? "" };
  }

  /** Asks the API server for its kinds' schemas; throws when it cannot be reached or does not know the client. */
  async reach(signal: AbortSignal): Promise<void> {
    await this.api.request({ method: "GET", path: "/openapi/v3", signal });
  }

  close(): void {
    this.api.close();
  }

  private async kind({ apiVersion, kind }: KubernetesObject): Promise<Kind> {
    const group = apiVersion ?? "";
    const known = (await this.discover(group)).get(kind ?? "");
    if (known) return known;
    this.kinds.delete(group); // a definition may come later
    throw new ApiError(404, "NotFound", `the API server has no kind ${kind} in ${group}; is its definition installed?`);
  }

  private discover(group: string): Promise<Map<string, Kind>> {
    const asked = this.kinds.get(group) ?? this.askFor(group);
    this.kinds.set(group, asked);
    asked.catch(() => this.kinds.delete(group));
    return asked;
  }

  private async askFor(group: string): Promise<Map<string, Kind>> {
    const { object } = await this.api.request({ method: "GET", path: groupPath(group) });
    const resources = (object["resources"] ?? []) as { name: string; kind: string; namespaced: boolean }[];
    const own = resources.filter(({ name }) => !name.includes("/"));
    return new Map(own.map(({ name, kind, namespaced }) => [kind, { plural: name, namespaced }]));
  }
}

const policies: Readonly<Record<string, string>> = { orphan: "Orphan", background: "Background" };

const groupPath = (apiVersion: string): string =>
  apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
