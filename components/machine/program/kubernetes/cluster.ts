import * as fs from "node:fs";
import type { KubeConfig, KubernetesObject, V1Job, V1Node, V1Pod } from "@kubernetes/client-node";
import { client } from "../../../clients/kubernetes/client";
import { Answered, callKubernetes } from "../../../clients/kubernetes/call";
import { MANAGER } from "../../../clients/kubernetes/manager";
import { nodeTaintState, type PutBackTask, UNTESTED } from "../task";
import {
  type AskedNode,
  askedNode,
  type BoundClaim,
  type FoundClass,
  isClassGiven,
  type NodeState,
  nodeState,
  type PodState,
  podState,
} from "./states";
import { claimedIn } from "../../../clients/kubernetes/devices";
import { markedTaints, type NodeTaints, TAINTED_BY, taintMark } from "./taint-mark";

export type * from "./states";

/** An object as a task of `put-back` has it. */
export type WantedObject = PutBackTask["objects"][number];

/** Kubernetes as the program sees it, behind its API, with whatever a kubeconfig can authenticate by. */
export type Cluster = Pick<KubernetesCluster, keyof KubernetesCluster>;

/** The real one. */
export class KubernetesCluster {
  /** URL of its API. */
  readonly server: string;
  /** Certificates (PEM) by which its API is known; undefined where the kubeconfig names none. */
  readonly authority: string | undefined;
  private readonly core;
  private readonly classes;
  private readonly storage;
  private readonly batch;
  private readonly slices;
  private readonly objects;

  constructor(
    config: KubeConfig,
    private readonly secrets: readonly string[],
  ) {
    const { caData, caFile, server } = config.getCurrentCluster() ?? {};
    this.server = server ?? "";
    if (caData) this.authority = Buffer.from(caData, "base64").toString();
    else if (caFile && fs.existsSync(caFile)) this.authority = fs.readFileSync(caFile, "utf8");
    const { BatchV1Api, CoreV1Api, KubernetesObjectApi, NodeV1Api, ResourceV1Api, StorageV1Api } = client();
    this.core = config.makeApiClient(CoreV1Api);
    this.classes = config.makeApiClient(NodeV1Api);
    this.storage = config.makeApiClient(StorageV1Api);
    this.batch = config.makeApiClient(BatchV1Api);
    this.slices = config.makeApiClient(ResourceV1Api);
    this.objects = KubernetesObjectApi.makeApiClient(config);
  }

  /** All nodes, as far as they tell which machines they are. */
  async nodes(): Promise<AskedNode[]> {
    return (await this.items("nodes", () => this.core.listNode())).map(askedNode);
  }

  /** A node, with the devices for claims that are published of it, if these are asked for; undefined when the cluster has none of that name. */
  async node(name: string, withDevices = false): Promise<NodeState | undefined> {
    const node = await this.readNode(name);
    if (node === undefined || !withDevices) return node && nodeState(node);
    const request = () => this.slices.listResourceSlice({ fieldSelector: `spec.nodeName=${name}` });
    return nodeState(node, await this.items(`ResourceSlices of ${name}`, request, { 404: undefined, 403: undefined }));
  }

  /** Devices of a class that pods have by claims on a node, by the UID of the pod: none where Kubernetes knows no claims. */
  async claimed(node: string, deviceClass: string): Promise<Record<string, number>> {
    const request = () => this.slices.listResourceClaimForAllNamespaces();
    const claims = await this.items("ResourceClaims", request, { 404: undefined, 403: undefined });
    return claimedIn(claims, node, deviceClass);
  }

  /** Whether the cluster has no second node. */
  async isAlone(): Promise<boolean> {
    return (await this.items("nodes", () => this.core.listNode({ limit: 2 }))).length < 2;
  }

  /** Marks the node unschedulable and sets the annotation, in one request. */
  async cordon(name: string, annotation: string, value: string): Promise<void> {
    await this.patch(name, { metadata: { annotations: { [annotation]: value } }, spec: { unschedulable: true } });
  }

  /** Takes both away, in one request. */
  async uncordon(name: string, annotation: string): Promise<void> {
    await this.patch(name, { metadata: { annotations: { [annotation]: null } }, spec: { unschedulable: null } });
  }

  /** Takes the annotation away alone. */
  async unmark(name: string, annotation: string): Promise<void> {
    await this.patch(name, { metadata: { annotations: { [annotation]: null } } });
  }

  /** Pods on the node, as a drain sees them. */
  async pods(node: string): Promise<PodState[]> {
    return (await this.podsOn(node)).map(podState);
  }

  /** The same as they are. */
  podsOn(node: string): Promise<V1Pod[]> {
    const fieldSelector = `spec.nodeName=${node}`;
    return this.items(`pods of ${node}`, () => this.core.listPodForAllNamespaces({ fieldSelector }));
  }

  /** Asks for the eviction; a disruption budget may refuse. */
  async evict({ namespace, name, uid }: PodState): Promise<{ refused?: string }> {
    // The UID keeps a pod of the same name, made again by a StatefulSet meanwhile, from being evicted in its place.
    const body = { metadata: { namespace, name }, deleteOptions: { preconditions: { uid } } };
    const request = () => this.core.createNamespacedPodEviction({ namespace, name, body });
    try {
      await this.call(`eviction of ${namespace}/${name}`, request, { 404: {}, 409: {} });
      return {};
    } catch (error) {
      if (error instanceof Answered && isRefusal(error)) return { refused: error.words };
      throw error;
    }
  }

  /** Volumes that are attached to the node, or on their way there or off. Undefined where the credentials may not see them. */
  async attachedVolumes(node: string): Promise<string[] | undefined> {
    const found = await this.call("volumes", () => this.storage.listVolumeAttachment(), { 403: undefined });
    return found?.items
      .filter(({ spec }) => spec.nodeName === node)
      .map(({ metadata, spec }) => spec.source.persistentVolumeName ?? metadata?.name ?? "");
  }

  /** Taints of a node and the version that they are of; undefined when the cluster has no such node. */
  async taints(name: string): Promise<(NodeTaints & { version: string }) | undefined> {
    const node = await this.readNode(name);
    if (node === undefined) return undefined;
    const taints = (node.spec?.taints ?? []).map((taint) => nodeTaintState.parse(JSON.parse(JSON.stringify(taint))));
    const ours = markedTaints(node.metadata?.annotations?.[TAINTED_BY]);
    return { taints, ours, version: node.metadata?.resourceVersion ?? "" };
  }

  /** Sets all taints of a node and what is ours of them, provided that it is of that version still. False when it is not. */
  async setTaints(name: string, { taints, ours }: NodeTaints, version: string): Promise<boolean> {
    const metadata = { resourceVersion: version, annotations: { [TAINTED_BY]: taintMark(ours) } };
    const body = { metadata, spec: { taints: taints.length > 0 ? taints : null } };
    return (await this.patch(name, body, { 409: "conflict" })) !== "conflict";
  }

  /** The RuntimeClass of this name; undefined when there is none. */
  async runtimeClass(name: string): Promise<FoundClass | undefined> {
    const request = () => this.classes.readRuntimeClass({ name });
    const found = await this.call(`RuntimeClass ${name}`, request, { 404: undefined });
    if (found === undefined) return undefined;
    const { ownerReferences = [], annotations = {} } = found.metadata ?? {};
    const policy = ownerReferences.find(({ kind }) => kind === "ClusterPolicy")?.name;
    return { policy, handler: found.handler, annotations };
  }

  /** Annotation of a namespace; undefined where there is no such namespace, or no such annotation. */
  async annotationOf(namespace: string, annotation: string): Promise<string | undefined> {
    const request = () => this.core.readNamespace({ name: namespace });
    const found = await this.call(`Namespace ${namespace}`, request, { 404: undefined, 403: undefined });
    return found?.metadata?.annotations?.[annotation];
  }

  /** Claims whose volume there is, and that bear the annotation. None where their list is forbidden. */
  async boundClaims(annotation: string): Promise<BoundClaim[]> {
    const request = () => this.core.listPersistentVolumeClaimForAllNamespaces();
    return (await this.items("claims", request, { 403: undefined })).flatMap(({ metadata, spec }) => {
      const owner = metadata?.annotations?.[annotation];
      if (owner === undefined || !spec?.volumeName) return [];
      const { name = "", namespace = "", managedFields = [] } = metadata ?? {};
      const { storageClassName: storageClass = "" } = spec;
      const givenClass = isClassGiven(managedFields) ? storageClass : undefined;
      return [{ name, namespace, owner, storageClass, givenClass }];
    });
  }

  /** The Jobs of a namespace that this package made. */
  jobs(namespace: string): Promise<V1Job[]> {
    const labelSelector = "app.kubernetes.io/managed-by=talos-gpu";
    return this.items(`Jobs of ${namespace}`, () => this.batch.listNamespacedJob({ namespace, labelSelector }));
  }

  /** Pods that a Job of this name made. */
  podsOfJob(namespace: string, job: string): Promise<V1Pod[]> {
    const asked = { namespace, labelSelector: `batch.kubernetes.io/job-name=${job}` };
    return this.items(`pods of Job ${namespace}/${job}`, () => this.core.listNamespacedPod(asked));
  }

  /** Suspends a Job, which takes its pods away, and notes why on it. */
  async suspend(namespace: string, name: string, why: string): Promise<void> {
    const body = { metadata: { annotations: { [UNTESTED]: why } }, spec: { suspend: true } };
    const asked = { namespace, name, body, fieldManager: GATE };
    await this.call(`Job ${namespace}/${name}`, () => this.batch.patchNamespacedJob(asked, merging()));
  }

  /** Deletes a Job with its pods. It is gone a moment later. */
  async remove({ metadata }: V1Job): Promise<void> {
    const [name, namespace, uid] = [metadata!.name!, metadata!.namespace!, metadata!.uid!];
    const body = { propagationPolicy: "Background", preconditions: { uid } };
    const request = (): Promise<unknown> => this.batch.deleteNamespacedJob({ name, namespace, body });
    await this.call(`Job ${namespace}/${name}`, request, { 404: undefined, 409: undefined });
  }

  /** Makes a Job as this one was made; false while that one is not gone. */
  async makeAnew({ metadata, spec }: V1Job): Promise<boolean> {
    const { name, namespace, labels = {}, annotations = {} } = metadata!;
    const { [UNTESTED]: _, ...kept } = annotations;
    // What the API server added is of the old Job: its selector, and the labels that the selector goes by.
    const { selector: __, suspend: ___, ...same } = spec!;
    const ours = (all: Record<string, string> = {}): Record<string, string> =>
      Object.fromEntries(Object.entries(all).filter(([key]) => !/(^|\/)(controller-uid|job-name)$/.test(key)));
    const { labels: on, annotations: noted = {} } = same.template.metadata ?? {};
    const template = { ...same.template, metadata: { labels: ours(on), annotations: noted } };
    const body: V1Job = {
      metadata: { name: name!, namespace: namespace!, labels: ours(labels), annotations: kept },
      spec: { ...same, template },
    };
    const asked = { namespace: namespace!, body, fieldManager: GATE };
    const request = (): Promise<V1Job | undefined> => this.batch.createNamespacedJob(asked);
    return (await this.call(`Job ${namespace}/${name}`, request, { 409: undefined })) !== undefined;
  }

  /** An object as it is; undefined where it is not there. */
  read({ apiVersion, kind, metadata: { name, namespace } }: WantedObject): Promise<KubernetesObject | undefined> {
    const header = { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
    return this.call(`${kind} ${name}`, () => this.objects.read(header), { 404: undefined });
  }

  /** Says by server-side apply what the object shall be; makes it where it is not there. */
  async apply(object: WantedObject, manager: string): Promise<KubernetesObject> {
    const { ServerSideApply } = client().PatchStrategy;
    // Forced: somebody else's hand on our fields is what this is to undo.
    const request = (): Promise<KubernetesObject> =>
      this.objects.patch(object as KubernetesObject, undefined, undefined, manager, true, ServerSideApply);
    return (await this.call(`${object.kind} ${object.metadata.name}`, request))!;
  }

  private readNode(name: string): Promise<V1Node | undefined> {
    return this.call(`node ${name}`, () => this.core.readNode({ name }), { 404: undefined });
  }

  private patch(name: string, body: object, instead: Record<number, any> = {}): Promise<unknown> {
    const request = (): Promise<unknown> => this.core.patchNode({ name, body, fieldManager: MANAGER }, merging());
    return this.call(`node ${name}`, request, instead);
  }

  /** Objects of a list; none where it is answered by something instead. */
  private async items<T>(
    what: string,
    request: () => Promise<{ items: T[] }>,
    instead?: Record<number, undefined>,
  ): Promise<T[]> {
    return (await this.call(what, request, instead))?.items ?? [];
  }

  private call<T>(what: string, request: () => Promise<T>, instead?: Record<number, any>): Promise<T | undefined> {
    return callKubernetes(this.secrets, what, request, instead);
  }
}

/** Field manager of what the gate does to Jobs. */
const GATE = "talos-gpu-gate";

const merging = () => {
  const { PatchStrategy, setHeaderOptions } = client();
  return setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
};

/**
 * Whether an eviction was refused for this pod and for now, so that others may go meanwhile and it may go later:
 * - 429: a disruption budget has no room (kubernetes v1.36 pkg/registry/core/pod/storage/eviction.go);
 * - 500 with a Status: more than one disruption budget selects the pod (there too), or a webhook failed. What has no Status
 *   comes from something before the API server, which cannot reach it;
 * - 403 for `NamespaceTerminating`: nothing is created in a namespace that is being deleted, and an eviction is. kubectl tries
 *   again until the namespace's controller deletes the pod (kubectl pkg/drain/drain.go, evictPods).
 */
function isRefusal({ code, byServer, reasons }: Answered): boolean {
  return code === 429 || (code === 500 && byServer) || (code === 403 && reasons.includes("NamespaceTerminating"));
}
