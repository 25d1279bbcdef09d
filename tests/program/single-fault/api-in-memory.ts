import { KubernetesApi, type Asking } from "../../../components/clients/kubernetes/api";
import type { Answer } from "../../../components/clients/kubernetes/error";
import { KubernetesCluster } from "../../../components/program/cluster/cluster";

type Stored = { metadata: Record<string, any> } & Record<string, any>;

const config = {
  getCurrentCluster: () => ({ name: "home", server: "https://api.home", skipTLSVerify: false }),
  getCurrentContext: () => "home",
  getCurrentUser: () => ({ name: "me" }),
  applyToHTTPSOptions: () => Promise.resolve(),
};

const kind = (kind: string, name: string, namespaced = true) => ({
  kind,
  name,
  namespaced,
  verbs: ["delete", "list"],
});

/** Kinds that the server has, by the path of their group. */
const groups: Record<string, object[]> = {
  "/api/v1": [
    kind("Namespace", "namespaces", false),
    kind("Pod", "pods"),
    kind("ConfigMap", "configmaps"),
  ],
  "/apis/batch/v1": [kind("Job", "jobs")],
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
    return this.behind(new KubernetesApi(config));
  }

  cluster(): KubernetesCluster {
    const cluster = new KubernetesCluster(config, []);
    this.behind(cluster["api"]);
    return cluster;
  }

  private behind(api: KubernetesApi): KubernetesApi {
    api["send"] = (url, asking) => Promise.resolve(this.answer(new URL(url).pathname, asking));
    return api;
  }

  private answer(path: string, { method = "GET", body }: Asking): Answer {
    const [status, said] =
      method === "GET" ? this.get(path) : this.write(method, path, body as Stored);
    return { status, headers: {}, body: JSON.stringify(said) };
  }

  private get(path: string): [number, object] {
    if (path === "/apis") return [200, { groups: [{ versions: [{ groupVersion: "batch/v1" }] }] }];
    if (path in groups) return [200, { resources: groups[path] }];
    const found = this.objects[path];
    if (found !== undefined) return [200, found];
    const isOne = /\/(nodes|namespaces|jobs|configmaps|runtimeclasses)\/[^/]+$/.test(path);
    if (isOne) return [404, { message: "not found" }];
    const items = Object.entries(this.objects).filter(
      ([at]) => at.slice(0, at.lastIndexOf("/")) === path,
    );
    return [200, { items: items.map(([, object]) => object) }];
  }

  private write(method: string, path: string, body: Stored): [number, object] {
    const gone: [number, object] = [404, { message: "not found" }];
    const conflict: [number, object] = [409, { message: "conflict" }];
    const at = method === "POST" ? `${path}/${body.metadata["name"]}` : path;
    const before = this.objects[at];
    if (method === "DELETE") {
      if (before === undefined) return gone;
      delete this.objects[at];
      return this.wrote(`DELETE ${at}`, {});
    }
    if (method === "POST" && before !== undefined) return conflict;
    const wanted = body.metadata?.["resourceVersion"] as string | undefined;
    if (wanted !== undefined && wanted !== before?.metadata["resourceVersion"]) return conflict;
    const merged = merge(before ?? { metadata: {} }, body) as Stored;
    const { uid = `uid-${this.version}` } = merged.metadata;
    const same = before !== undefined && JSON.stringify(merged) === JSON.stringify(before);
    const resourceVersion = same ? before.metadata["resourceVersion"] : String(++this.version);
    this.objects[at] = { ...merged, metadata: { ...merged.metadata, uid, resourceVersion } };
    return same ? [200, this.objects[at]] : this.wrote(`${method} ${at}`, this.objects[at]);
  }

  private wrote(write: string, answer: object): [number, object] {
    this.writes.push(write);
    this.afterWrite(write);
    return [200, answer];
  }
}

/** A merge patch (RFC 7396). */
function merge(there: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = { ...(there as Record<string, unknown> | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}
