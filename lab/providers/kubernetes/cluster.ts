import { Api, ApiError, isNotFound, type KubernetesObject } from "./api";
import { type Access, readKubeconfig } from "./kubeconfig";
import { isMap } from "../values";

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

  /** Creates an object. Error: `ApiError` 409 `AlreadyExists` where there is one of its name. */
  async create(object: KubernetesObject, { fieldManager, dryRun, signal }: Omit<ApplyOptions, "force">) {
    return this.api.request({
      method: "POST",
      path: await this.path(object, true),
      query: { fieldManager, fieldValidation: "Warn", dryRun: dryRun ? "All" : undefined },
      body: object,
      signal,
    });
  }

  /**
   * Hands the fields that a creation or kubectl wrote to the manager of an apply; a dry run hands none.
   *
   * @param live The object as it is. @returns whether there are such fields.
   */
  async handOver(live: KubernetesObject, options: Omit<ApplyOptions, "force">): Promise<boolean> {
    const value = handedOver((live.metadata?.["managedFields"] ?? []) as ManagedFields[], options.fieldManager);
    if (value === undefined || options.dryRun) return value !== undefined;
    await this.api.request({
      method: "PATCH",
      path: await this.path(live),
      contentType: "application/json-patch+json",
      body: [{ op: "replace", path: "/metadata/managedFields", value }],
      signal: options.signal,
    });
    return true;
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

/** Manager of every field that the real provider writes as it creates an object (pulumi-kubernetes provider/pkg/await/await.go, Creation). */
export const creator = "pulumi-kubernetes";

/** Fields of an object that one manager wrote. */
export interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  /** Fields as nested names, each `f:<name>`, `k:<key>` or `.`. */
  readonly fieldsV1?: object;
  readonly subresource?: string;
}

/** Operations and beginnings of names of the managers whose fields an update takes over (await.go, fixCSAFieldManagers). */
const takenOver: readonly (readonly [operation: string, name: string])[] = [
  ["Apply", "kubectl"],
  ["Update", "kubectl"],
  ["Update", "before-first-apply"],
  ["Update", creator],
  ["Update", "pulumi-resource-kubernetes"],
];

/**
 * Who owns which fields once an update has taken over those of a creation and of kubectl; undefined where there are none
 * (fluxcd/pkg/ssa/patch.go, PatchReplaceFieldsManagers).
 */
export function handedOver(entries: readonly ManagedFields[], manager: string): ManagedFields[] | undefined {
  const goes = (entry: ManagedFields): boolean =>
    entry.subresource === undefined &&
    takenOver.some(([operation, name]) => entry.operation === operation && entry.manager.startsWith(name));
  const going = entries.filter(goes);
  if (going.length === 0) return undefined;
  const isOurs = (entry: ManagedFields): boolean => entry.operation === "Apply" && entry.manager === manager;
  const fieldsV1 = [...entries.filter(isOurs), ...going].map((entry) => entry.fieldsV1 ?? {}).reduce(united);
  const ours = { ...(entries.find(isOurs) ?? going[0]!), manager, operation: "Apply", fieldsV1 };
  return [...entries.filter((entry) => !goes(entry) && !isOurs(entry)), ours];
}

function united(one: object, other: object): object {
  const all: Record<string, unknown> = { ...one };
  for (const [name, below] of Object.entries(other) as [string, object][])
    all[name] = isMap(all[name]) ? united(all[name], below) : below;
  return all;
}

const policies: Readonly<Record<string, string>> = { orphan: "Orphan", background: "Background" };

const groupPath = (apiVersion: string): string =>
  apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
