import * as fs from "node:fs";
import type {
  CoreV1Event,
  KubernetesObject,
  ResourceV1ResourceClaim,
  V1EndpointSlice,
  V1Job,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1ResourceSlice,
  V1RuntimeClass,
  V1StorageClass,
  V1ValidatingWebhookConfiguration,
  V1VolumeAttachment,
} from "@kubernetes/client-node";
import { KubernetesApi, type Kubeconfig, type ObjectKey } from "../../clients/kubernetes/api";
import { KubernetesError } from "../../clients/kubernetes/error";
import { defined } from "../../recipe/mapping";
import { MANAGER } from "../../clients/kubernetes/manager";
import { nodeTaintState, type PutBackTask, UNTESTED } from "../task";
import {
  type AskedNode,
  askedNode,
  didStackSetStorageClass,
  type NodeState,
  nodeState,
  type PodState,
  podState,
  type Storage,
  storageOf,
} from "./states";
import { type GpuOffer, gpuOffers, type Workload } from "../../clients/kubernetes/gpu-offers";
import { claimedIn, slicesPath } from "../../clients/kubernetes/devices";
import type { RequestedApi } from "../../recipe/effect/kubernetes-step";
import { imageRelease } from "../../clients/talos/configuration-text";
import { requestedApis } from "./releases";
import {
  endpointsIn,
  reportedPods,
  type ReportedPods,
  requiredServices,
  type WebhookService,
} from "./webhooks";
import { markedTaints, type NodeTaints, TAINTED_BY, taintMark } from "./taint-mark";

export type * from "./states";

/** An object of a `put-back` task, in its wanted state. */
export type WantedObject = PutBackTask["objects"][number];

/** Identity of the object in the Kubernetes API. */
export const keyOf = ({
  apiVersion,
  kind,
  metadata: { name, namespace },
}: WantedObject): ObjectKey => ({
  apiVersion,
  kind,
  name,
  ...defined({ namespace }),
});

/** All calls of the program to the Kubernetes API; tests implement them without a server. */
export type Cluster = Pick<KubernetesCluster, keyof KubernetesCluster>;

/** A PersistentVolumeClaim that has a volume: deleting the claim loses the data. */
export type BoundClaim = Awaited<ReturnType<Cluster["boundClaims"]>>[number];

/** Client for the Kubernetes API of a cluster, with any way of authentication that a kubeconfig can name. */
export class KubernetesCluster {
  /** URL of the API server. */
  readonly server: string;
  /** Certificates (PEM) of the API server's CA; undefined if the kubeconfig names none. */
  readonly authority: string | undefined;
  private readonly api: KubernetesApi;

  constructor(config: Kubeconfig, secrets: readonly string[]) {
    this.api = new KubernetesApi(config, secrets);
    this.server = this.api.server;
    const { caData, caFile } = config.getCurrentCluster() ?? {};
    if (caData) this.authority = Buffer.from(caData, "base64").toString();
    else if (caFile && fs.existsSync(caFile)) this.authority = fs.readFileSync(caFile, "utf8");
  }

  /** All nodes, reduced to the properties that identify their machines. */
  async nodes(): Promise<AskedNode[]> {
    return (await this.api.list<V1Node>("nodes", "/api/v1/nodes")).map(askedNode);
  }

  /**
   * A node; undefined if the cluster has no node of that name. `withDevices` adds the devices in the node's
   * ResourceSlices.
   */
  async node(name: string, withDevices = false): Promise<NodeState | undefined> {
    const node = await this.readNode(name);
    if (node === undefined || !withDevices) return node && nodeState(node);
    const path = `${slicesPath}?${query({ fieldSelector: `spec.nodeName=${name}` })}`;
    const description = `ResourceSlices of ${name}`;
    return nodeState(
      node,
      await this.api.list<V1ResourceSlice>(description, path, { instead: notKnown }),
    );
  }

  /**
   * How many devices of the DeviceClass each pod on the node holds through ResourceClaims, by pod UID. Empty if the
   * cluster has no ResourceClaims.
   */
  async claimed(node: string, deviceClass: string): Promise<Record<string, number>> {
    const path = "/apis/resource.k8s.io/v1/resourceclaims";
    const claims = await this.api.list<ResourceV1ResourceClaim>("ResourceClaims", path, {
      instead: notKnown,
    });
    return claimedIn(claims, node, deviceClass);
  }

  /** Whether the cluster has only one node. */
  async isAlone(): Promise<boolean> {
    return (await this.api.list("nodes", "/api/v1/nodes?limit=2")).length < 2;
  }

  /** Marks the node unschedulable and sets the annotation, in one request. */
  async cordon(name: string, annotation: string, value: string): Promise<void> {
    await this.patch(name, {
      metadata: { annotations: { [annotation]: value } },
      spec: { unschedulable: true },
    });
  }

  /** Makes the node schedulable and removes the annotation, in one request. */
  async uncordon(name: string, annotation: string): Promise<void> {
    await this.patch(name, {
      metadata: { annotations: { [annotation]: null } },
      spec: { unschedulable: null },
    });
  }

  /** Removes the annotation and changes nothing else on the node. */
  async removeAnnotation(name: string, annotation: string): Promise<void> {
    await this.patch(name, { metadata: { annotations: { [annotation]: null } } });
  }

  /** Pods on the node, reduced to the state that a drain needs. */
  async pods(node: string): Promise<PodState[]> {
    return (await this.podsOn(node)).map(podState);
  }

  /** Pods on the node, as the Kubernetes API returns them. */
  podsOn(node: string): Promise<V1Pod[]> {
    return this.api.list(
      `pods of ${node}`,
      `/api/v1/pods?${query({ fieldSelector: `spec.nodeName=${node}` })}`,
    );
  }

  /**
   * Requests the eviction of a pod. `refused` is the reason if Kubernetes refuses it for now, e.g. because of a
   * PodDisruptionBudget.
   */
  async evict({ namespace, name, uid }: PodState): Promise<{ refused?: string }> {
    // With the UID, a pod of the same name that a StatefulSet has created meanwhile is not evicted instead.
    const options = { metadata: { namespace, name }, deleteOptions: { preconditions: { uid } } };
    const body = { apiVersion: "policy/v1", kind: "Eviction", ...options };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
    try {
      const ignoredStatuses = { 404: undefined, 409: undefined }; // or it was replaced meanwhile
      await this.api.ask(`eviction of ${namespace}/${name}`, path, {
        method: "POST",
        body,
        instead: ignoredStatuses,
      });
      return {};
    } catch (error) {
      if (error instanceof KubernetesError && isRefusal(error)) return { refused: error.words };
      throw error;
    }
  }

  /**
   * Names of the volumes with a VolumeAttachment for the node. Undefined if the credentials may not list
   * VolumeAttachments.
   */
  async attachedVolumes(node: string): Promise<string[] | undefined> {
    const path = "/apis/storage.k8s.io/v1/volumeattachments";
    const attachments = await this.api.ask<{ items: V1VolumeAttachment[] }>("volumes", path, {
      instead: { 403: undefined },
    });
    return attachments?.items
      .filter(({ spec }) => spec.nodeName === node)
      .map(({ metadata, spec }) => spec.source.persistentVolumeName ?? metadata?.name ?? "");
  }

  /**
   * Taints of a node, with the node's resource version at the time of the read; undefined if the cluster has no such
   * node.
   */
  async taints(name: string): Promise<(NodeTaints & { version: string }) | undefined> {
    const node = await this.readNode(name);
    if (node === undefined) return undefined;
    const taints = (node.spec?.taints ?? []).map((taint) => nodeTaintState.parse(taint));
    const managedTaints = markedTaints(node.metadata?.annotations?.[TAINTED_BY]);
    return { taints, stackTaints: managedTaints, version: node.metadata?.resourceVersion ?? "" };
  }

  /**
   * Replaces the node's list of taints, and the annotation that names this package's taints. Returns false, and changes
   * nothing, if the node's resource version is no longer `version`.
   */
  async setTaints(
    name: string,
    { taints, stackTaints }: NodeTaints,
    version: string,
  ): Promise<boolean> {
    const metadata = {
      resourceVersion: version,
      annotations: { [TAINTED_BY]: taintMark(stackTaints) },
    };
    const body = { metadata, spec: { taints: taints.length > 0 ? taints : null } };
    return (await this.patch(name, body, { 409: "conflict" })) !== "conflict";
  }

  /**
   * The services of admission webhooks that must answer before Kubernetes accepts an object. Empty if the credentials
   * may not list webhooks; without a service whose endpoints they may not list.
   */
  async webhookServices(): Promise<WebhookService[]> {
    const list = <T>(kind: string): Promise<T[]> =>
      this.api.list(kind, `/apis/admissionregistration.k8s.io/v1/${kind}`, {
        instead: { 403: undefined },
      });
    const required = requiredServices([
      ...(await list<V1MutatingWebhookConfiguration>("mutatingwebhookconfigurations")),
      ...(await list<V1ValidatingWebhookConfiguration>("validatingwebhookconfigurations")),
    ]);
    const services: WebhookService[] = [];
    for (const { namespace, name } of required) {
      const selector = query({ labelSelector: `kubernetes.io/service-name=${name}` });
      const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?${selector}`;
      const slices = await this.api.ask<{ items?: V1EndpointSlice[] | null }>("endpoints", path, {
        instead: { 403: undefined },
      });
      if (slices !== undefined)
        services.push({ namespace, name, endpoints: endpointsIn(slices.items ?? []) });
    }
    return services;
  }

  /** What the node's kubelet last reported of its pods. */
  async reportedPods(node: string): Promise<ReportedPods> {
    return reportedPods(await this.podsOn(node));
  }

  /** The RuntimeClass of this name; undefined when there is none. */
  async runtimeClass(name: string) {
    const path = `/apis/node.k8s.io/v1/runtimeclasses/${name}`;
    const existing = await this.api.ask<V1RuntimeClass>(`RuntimeClass ${name}`, path, {
      instead: { 404: undefined },
    });
    if (existing === undefined) return undefined;
    const { ownerReferences = [], annotations = {} } = existing.metadata ?? {};
    /** Name of the ClusterPolicy that owns the RuntimeClass. */
    const policy = ownerReferences.find(({ kind }) => kind === "ClusterPolicy")?.name;
    return { policy, handler: existing.handler, annotations };
  }

  /** Annotation of a namespace; undefined if the namespace or the annotation does not exist. */
  async annotationOf(namespace: string, annotation: string): Promise<string | undefined> {
    const path = `/api/v1/namespaces/${namespace}`;
    const namespaceObject = await this.api.ask<V1Namespace>(`Namespace ${namespace}`, path, {
      instead: notKnown,
    });
    return namespaceObject?.metadata?.annotations?.[annotation];
  }

  /** Whether a namespace or a Secret exists. Kubernetes sends its metadata alone, and no content. */
  async exists({ kind, name, namespace }: Omit<ObjectKey, "apiVersion">): Promise<boolean> {
    const path =
      namespace === undefined
        ? `/api/v1/namespaces/${name}`
        : `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
    // Without the Secret's name: messages hide what follows a word such as `token`.
    const object = await this.api.ask(kind, path, {
      accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
      instead: { 404: undefined },
    });
    return object !== undefined;
  }

  /** Pods of other owners with this RuntimeClass, as `namespace/name`. Empty if the credentials may not list pods. */
  async podsOfClass(name: string): Promise<string[]> {
    const selector = query({ labelSelector: "app.kubernetes.io/managed-by!=talos-gpu" });
    const pods = await this.api.list<V1Pod>("pods", `/api/v1/pods?${selector}`, {
      instead: { 403: undefined },
    });
    return pods.flatMap(({ metadata, spec }) =>
      spec?.runtimeClassName === name
        ? [`${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`]
        : [],
    );
  }

  /**
   * GPU providers in the cluster; undefined if the credentials may not list DaemonSets or Deployments. `withoutPlugin`
   * says whether the GPU Operator's ClusterPolicy turns the device plugin off.
   */
  async gpuOffers(): Promise<{ offers: GpuOffer[] | undefined; withoutPlugin: boolean }> {
    const forbidden = { instead: { 403: undefined } };
    const [sets, deployments, policies] = await Promise.all([
      this.api.ask<{ items?: Workload[] }>("DaemonSets", "/apis/apps/v1/daemonsets", forbidden),
      this.api.ask<{ items?: Workload[] }>("Deployments", "/apis/apps/v1/deployments", forbidden),
      this.api.list<ClusterPolicy>("ClusterPolicies", "/apis/nvidia.com/v1/clusterpolicies", {
        instead: notKnown,
      }),
    ]);
    const plugins = policies.map(({ spec }) => spec?.devicePlugin?.enabled);
    const withoutPlugin = plugins.length > 0 && plugins.every((enabled) => enabled === false);
    if (sets === undefined || deployments === undefined)
      return { offers: undefined, withoutPlugin };
    // Objects of a list have no kind of their own.
    const workloads = [
      ...(sets.items ?? []).map((set) => ({ ...set, kind: "DaemonSet" })),
      ...(deployments.items ?? []).map((deployment) => ({ ...deployment, kind: "Deployment" })),
    ];
    return { offers: gpuOffers(workloads), withoutPlugin };
  }

  /**
   * Releases of the API servers, from their static pods in kube-system. Empty if there are no such pods, e.g. with a
   * hosted control plane, or if the credentials may not list pods.
   */
  async apiServers(): Promise<string[]> {
    const path = "/api/v1/namespaces/kube-system/pods";
    const selector = query({ labelSelector: `k8s-app=${API_SERVER}` });
    const options = { instead: { 403: undefined } };
    const pods = await this.api.list<V1Pod>("API servers", `${path}?${selector}`, options);
    const images = pods.flatMap(({ spec }) =>
      (spec?.containers ?? []).flatMap(({ name, image }) => (name === API_SERVER && image) || []),
    );
    return images.flatMap((image) => imageRelease(image) ?? []);
  }

  /**
   * APIs that a later release does not serve, and that clients have requested since the API server's start. Undefined
   * if the credentials may not read the API server's metrics.
   */
  async requestedApis(): Promise<RequestedApi[] | undefined> {
    try {
      return requestedApis(await this.api.text("metrics of kube-apiserver", "/metrics"));
    } catch (error) {
      if (error instanceof KubernetesError && error.code === 403) return undefined;
      throw error;
    }
  }

  /** Names of all objects of a resource. Undefined if the credentials may not list these objects. */
  async objectsAt(path: string): Promise<string[] | undefined> {
    const options = { instead: { 403: undefined, 404: { items: [] } } };
    const list = await this.api.ask<{ items: KubernetesObject[] | null }>(path, path, options);
    return (
      list &&
      (list.items ?? []).map(({ metadata }) =>
        [metadata?.namespace, metadata?.name].filter(Boolean).join("/"),
      )
    );
  }

  /**
   * PersistentVolumeClaims that are bound to a volume and have the annotation. The annotation's value is their `owner`.
   * Empty if the credentials may not list claims.
   */
  async boundClaims(annotation: string) {
    const options = { instead: { 403: undefined } };
    const claims = await this.api.list<V1PersistentVolumeClaim>(
      "claims",
      "/api/v1/persistentvolumeclaims",
      options,
    );
    return claims.flatMap(({ metadata, spec }) => {
      const owner = metadata?.annotations?.[annotation];
      if (owner === undefined || !spec?.volumeName) return [];
      const { name = "", namespace = "", managedFields = [] } = metadata ?? {};
      const { storageClassName: storageClass = "" } = spec;
      /** StorageClass that the stack set; undefined if the stack left it to the cluster. */
      const statedClass = didStackSetStorageClass(managedFields) ? storageClass : undefined;
      return [{ name, namespace, owner, storageClass, givenClass: statedClass }];
    });
  }

  /**
   * What can back a new claim: the StorageClasses, and the volumes that no claim has yet. Undefined if the credentials
   * may not list either of them.
   */
  async storage(): Promise<Storage | undefined> {
    const instead = { 403: undefined };
    const [classes, volumes] = await Promise.all([
      this.api.ask<{ items: V1StorageClass[] | null }>(
        "StorageClasses",
        "/apis/storage.k8s.io/v1/storageclasses",
        { instead },
      ),
      this.api.ask<{ items: V1PersistentVolume[] | null }>(
        "PersistentVolumes",
        "/api/v1/persistentvolumes",
        { instead },
      ),
    ]);
    return classes && volumes && storageOf(classes.items ?? [], volumes.items ?? []);
  }

  /** This package's Jobs in a namespace. */
  jobs(namespace: string): Promise<V1Job[]> {
    const selector = query({ labelSelector: "app.kubernetes.io/managed-by=talos-gpu" });
    return this.api.list(`Jobs of ${namespace}`, `${jobsOf(namespace)}?${selector}`);
  }

  podsOfJob(namespace: string, job: string): Promise<V1Pod[]> {
    const selector = query({ labelSelector: `batch.kubernetes.io/job-name=${job}` });
    return this.api.list(
      `pods of Job ${namespace}/${job}`,
      `/api/v1/namespaces/${namespace}/pods?${selector}`,
    );
  }

  /**
   * Kubernetes' warnings about a Job, the newest last, e.g. why its pod cannot be created. Empty if the credentials may
   * not read events.
   */
  async warningsOfJob(namespace: string, job: string): Promise<string[]> {
    const fieldSelector = `involvedObject.kind=Job,involvedObject.name=${job},type=Warning`;
    const path = `/api/v1/namespaces/${namespace}/events?${query({ fieldSelector })}`;
    const events = await this.api.list<CoreV1Event>(`events of Job ${namespace}/${job}`, path, {
      instead: notKnown,
    });
    const timeOf = ({ lastTimestamp, eventTime, metadata }: CoreV1Event): number =>
      new Date(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0).getTime();
    return events.sort((a, b) => timeOf(a) - timeOf(b)).flatMap(({ message }) => message ?? []);
  }

  /** Suspends a Job, and records the reason in an annotation. Kubernetes then deletes the Job's pods. */
  async suspend(namespace: string, name: string, why: string): Promise<void> {
    const body = { metadata: { annotations: { [UNTESTED]: why } }, spec: { suspend: true } };
    const path = `${jobsOf(namespace)}/${name}?fieldManager=${GATE}`;
    await this.api.ask(`Job ${namespace}/${name}`, path, { method: "PATCH", type: MERGE, body });
  }

  /** Deletes a Job with its pods. Kubernetes finishes the deletion shortly after the call. */
  async remove({ metadata }: V1Job): Promise<void> {
    const [name, namespace, uid] = [metadata!.name!, metadata!.namespace!, metadata!.uid!];
    await this.api.deleteExactly(
      `Job ${namespace}/${name}`,
      `${jobsOf(namespace)}/${name}`,
      uid,
      "Background",
    );
  }

  /**
   * Creates a deleted Job again, from its old specification; false while the old Job still exists. Returns true also if
   * an earlier attempt created the Job and the answer was lost.
   */
  async makeAnew({ metadata, spec }: V1Job): Promise<boolean> {
    const { name = "", namespace = "", uid, labels = {}, annotations = {} } = metadata ?? {};
    const { [UNTESTED]: _, ...keptAnnotations } = annotations;
    // Fields that the API server added belong to the old Job: its selector, and the labels that the selector names.
    const { selector: __, suspend: ___, ...jobSpec } = spec!;
    const withoutControllerLabels = (
      allLabels: Record<string, string> = {},
    ): Record<string, string> =>
      Object.fromEntries(
        Object.entries(allLabels).filter(([key]) => !/(^|\/)(controller-uid|job-name)$/.test(key)),
      );
    const { labels: templateLabels, annotations: templateAnnotations = {} } =
      jobSpec.template.metadata ?? {};
    const template = {
      ...jobSpec.template,
      metadata: {
        labels: withoutControllerLabels(templateLabels),
        annotations: templateAnnotations,
      },
    };
    const body: V1Job = {
      apiVersion: "batch/v1",
      kind: "Job",
      spec: { ...jobSpec, template },
      metadata: {
        name,
        namespace,
        labels: withoutControllerLabels(labels),
        annotations: keptAnnotations,
      },
    };
    const options = { method: "POST", body, instead: { 409: undefined } } as const;
    const description = `Job ${namespace}/${name}`;
    const created = await this.api.ask(
      description,
      `${jobsOf(namespace)}?fieldManager=${GATE}`,
      options,
    );
    if (created !== undefined) return true;
    const path = `${jobsOf(namespace)}/${name}`;
    const existing = await this.api.ask<V1Job>(description, path, { instead: { 404: undefined } });
    return existing !== undefined && existing.metadata?.uid !== uid;
  }

  /** An object's current state; undefined if it does not exist. */
  read(object: WantedObject): Promise<KubernetesObject | undefined> {
    return this.api.read(keyOf(object));
  }

  /**
   * Sets the object's wanted state by server-side apply, which also creates a missing object. Returns undefined if the
   * API server lacks the object's kind.
   */
  async apply(object: WantedObject, manager: string): Promise<KubernetesObject | undefined> {
    const { kind, metadata } = object;
    const path = await this.api.pathOf(keyOf(object));
    if (path === undefined) return undefined;
    // Forced, to undo changes that others made to this stack's fields.
    const options = {
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body: object,
    } as const;
    const pathWithManager = `${path}?fieldManager=${manager}&force=true`;
    return this.api.ask<KubernetesObject>(`${kind} ${metadata.name}`, pathWithManager, options);
  }

  private readNode(name: string): Promise<V1Node | undefined> {
    return this.api.ask(`node ${name}`, `/api/v1/nodes/${name}`, { instead: { 404: undefined } });
  }

  private patch(
    name: string,
    body: object,
    instead: Record<number, unknown> = {},
  ): Promise<unknown> {
    const path = `/api/v1/nodes/${name}?fieldManager=${MANAGER}`;
    return this.api.ask(`node ${name}`, path, { method: "PATCH", type: MERGE, body, instead });
  }
}

/**
 * The field of the GPU Operator's ClusterPolicy that turns the device plugin on or off (gpu-operator v26.3.3,
 * api/nvidia/v1/clusterpolicy_types.go).
 */
type ClusterPolicy = KubernetesObject & { spec?: { devicePlugin?: { enabled?: boolean } } };

const MERGE = "application/merge-patch+json";
const jobsOf = (namespace: string): string => `/apis/batch/v1/namespaces/${namespace}/jobs`;
/**
 * Name of the API server's container, and value of the label `k8s-app` of its static pod (talos,
 * pkg/cluster/kubernetes/detect.go).
 */
const API_SERVER = "kube-apiserver";
const query = (parts: Record<string, string>): string => new URLSearchParams(parts).toString();
/** HTTP codes for a kind that the API server lacks, or that the credentials may not read. Both count as no answer. */
const notKnown = { 403: undefined, 404: undefined };

/** Field manager for the gate's changes to Jobs. */
const GATE = "talos-gpu-gate";

/**
 * Whether Kubernetes refused an eviction only for this pod and only for now. The drain then goes on with other pods,
 * and tries this pod again later:
 * - 429 with a Status: a PodDisruptionBudget allows no eviction now (kubernetes v1.36.3
 *   pkg/registry/core/pod/storage/eviction.go), or a webhook denies it. A 429 in plain text is about no pod: the API
 *   server is overloaded or shuts down (k8s.io/apiserver v0.36.3 pkg/server/filters, tooManyRequests in
 *   priority-and-fairness.go, and with_retry_after.go). The drain then waits as long as the answer says;
 * - 500 with a Status: several PodDisruptionBudgets select the pod (eviction.go), or a webhook failed. An answer without
 *   a Status comes from a proxy that cannot reach the API server;
 * - 403 for `NamespaceTerminating`: an eviction is an object, and Kubernetes creates none in a namespace that is being
 *   deleted. kubectl retries until the namespace's controller deletes the pod (kubectl pkg/drain/drain.go, evictPods).
 */
const isRefusal = ({ code, hasStatus, reasons }: KubernetesError): boolean =>
  ((code === 429 || code === 500) && hasStatus) ||
  (code === 403 && reasons.includes("NamespaceTerminating"));
