import { Api, ApiError, isNotFound, type KubernetesObject } from "./api";
import { type Access, readKubeconfig } from "./kubeconfig";

/** What the API server says of a kind. */
interface Kind {
  readonly plural: string;
  readonly namespaced: boolean;
}

/** How an apply is done. */
export interface ApplyOptions {
  /** Owner of the fields. */
  readonly fieldManager: string;
  /** Takes fields from other owners instead of failing. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

/** Objects of one cluster. */
export class Cluster {
  readonly api: Api;
  private readonly kinds = new Map<string, Promise<Map<string, Kind>>>();

  private constructor(access: Access) {
    this.api = new Api(access);
  }

  /** Opens the cluster of a kubeconfig (contents or path). */
  static of(kubeconfig: string): Cluster {
    return new Cluster(readKubeconfig(kubeconfig));
  }

  /** Path of an object. */
  async path(object: KubernetesObject): Promise<string> {
    const { plural, namespaced } = await this.kind(object);
    const namespace = namespaced ? `/namespaces/${object.metadata?.namespace ?? "default"}` : "";
    return `${groupPath(object.apiVersion ?? "")}${namespace}/${plural}/${encodeURIComponent(object.metadata?.name ?? "")}`;
  }

  /** Reads an object. Error: `ApiError` 404 when it is not there. */
  async get(object: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject> {
    return this.api.request({ method: "GET", path: await this.path(object), signal });
  }

  /** Server-side apply. */
  async apply(object: KubernetesObject, { fieldManager, force, signal }: ApplyOptions): Promise<KubernetesObject> {
    return this.api.request({
      method: "PATCH",
      path: await this.path(object),
      query: { fieldManager, force: String(force) },
      // JSON is YAML, and the content type of an apply is YAML's
      contentType: "application/apply-patch+yaml",
      body: object,
      signal,
    });
  }

  /** Deletes, dependents first; returns whether there was something to delete. */
  async delete(object: KubernetesObject, signal: AbortSignal): Promise<boolean> {
    try {
      const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground" };
      await this.api.request({ method: "DELETE", path: await this.path(object), body, signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
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
    const object = await this.api.request({ method: "GET", path: groupPath(group) });
    const resources = (object["resources"] ?? []) as { name: string; kind: string; namespaced: boolean }[];
    const own = resources.filter(({ name }) => !name.includes("/"));
    return new Map(own.map(({ name, kind, namespaced }) => [kind, { plural: name, namespaced }]));
  }
}

const groupPath = (apiVersion: string): string =>
  apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
