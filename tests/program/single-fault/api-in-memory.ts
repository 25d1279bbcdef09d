import { KubernetesApi, type RequestOptions } from "../../../components/clients/kubernetes/api";
import type { Answer } from "../../../components/clients/kubernetes/error";
import { KubernetesCluster } from "../../../components/program/cluster/cluster";

type Stored = { metadata: Record<string, any> } & Record<string, any>;

const kubeconfig = {
  getCurrentCluster: () => ({ name: "home", server: "https://api.home", skipTLSVerify: false }),
  getCurrentContext: () => "home",
  getCurrentUser: () => ({ name: "me" }),
  applyToHTTPSOptions: () => Promise.resolve(),
};

const resourceKind = (kind: string, name: string, namespaced = true) => ({
  kind,
  name,
  namespaced,
  verbs: ["delete", "list"],
});

/** Kinds that the server has, by the path of their group. */
const groups: Record<string, object[]> = {
  "/api/v1": [
    resourceKind("Namespace", "namespaces", false),
    resourceKind("Pod", "pods"),
    resourceKind("ConfigMap", "configmaps"),
  ],
  "/apis/batch/v1": [resourceKind("Job", "jobs")],
};

/** An API server in memory: objects by path, each with a version that increases with every write. */
export class ApiInMemory {
  private version = 1;
  /** Writes that took effect. */
  readonly writes: string[] = [];
  /** Called after each write. */
  afterWrite: (write: string) => void = () => {};

  constructor(readonly objects: Record<string, Stored>) {}

  client(): KubernetesApi {
    return this.connect(new KubernetesApi(kubeconfig));
  }

  cluster(): KubernetesCluster {
    const cluster = new KubernetesCluster(kubeconfig, []);
    this.connect(cluster["api"]);
    return cluster;
  }

  private connect(api: KubernetesApi): KubernetesApi {
    api["send"] = (url, request) => Promise.resolve(this.answer(new URL(url).pathname, request));
    return api;
  }

  private answer(path: string, { method = "GET", body }: RequestOptions): Answer {
    const [status, answerBody] =
      method === "GET" ? this.get(path) : this.write(method, path, body as Stored);
    return { status, headers: {}, body: JSON.stringify(answerBody) };
  }

  private get(path: string): [number, object] {
    if (path === "/apis") return [200, { groups: [{ versions: [{ groupVersion: "batch/v1" }] }] }];
    if (path in groups) return [200, { resources: groups[path] }];
    const object = this.objects[path];
    if (object !== undefined) return [200, object];
    const isSingleObject = /\/(nodes|namespaces|jobs|configmaps|runtimeclasses)\/[^/]+$/.test(path);
    if (isSingleObject) return [404, { message: "not found" }];
    const items = Object.entries(this.objects).filter(
      ([objectPath]) => objectPath.slice(0, objectPath.lastIndexOf("/")) === path,
    );
    return [200, { items: items.map(([, object]) => object) }];
  }

  private write(method: string, path: string, body: Stored): [number, object] {
    const notFound: [number, object] = [404, { message: "not found" }];
    const conflict: [number, object] = [409, { message: "conflict" }];
    const objectPath = method === "POST" ? `${path}/${body.metadata["name"]}` : path;
    const objectBefore = this.objects[objectPath];
    if (method === "DELETE") {
      if (objectBefore === undefined) return notFound;
      delete this.objects[objectPath];
      return this.recordWrite(`DELETE ${objectPath}`, {});
    }
    if (method === "POST" && objectBefore !== undefined) return conflict;
    const expectedVersion = body.metadata?.["resourceVersion"] as string | undefined;
    if (
      expectedVersion !== undefined &&
      expectedVersion !== objectBefore?.metadata["resourceVersion"]
    )
      return conflict;
    const merged = merge(objectBefore ?? { metadata: {} }, body) as Stored;
    const { uid = `uid-${this.version}` } = merged.metadata;
    const isUnchanged =
      objectBefore !== undefined && JSON.stringify(merged) === JSON.stringify(objectBefore);
    const resourceVersion = isUnchanged
      ? objectBefore.metadata["resourceVersion"]
      : String(++this.version);
    this.objects[objectPath] = {
      ...merged,
      metadata: { ...merged.metadata, uid, resourceVersion },
    };
    return isUnchanged
      ? [200, this.objects[objectPath]]
      : this.recordWrite(`${method} ${objectPath}`, this.objects[objectPath]);
  }

  private recordWrite(write: string, answer: object): [number, object] {
    this.writes.push(write);
    this.afterWrite(write);
    return [200, answer];
  }
}

/** A merge patch (RFC 7396). */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = { ...(target as Record<string, unknown> | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}
