import type { KubeConfig, NodeV1Api, StorageV1Api, V1Node, V1Pod } from "@kubernetes/client-node";
import type { Cluster, NodeState, PodState } from "../../../clients/machine";
import { client } from "../../../clients/kubernetes/client";
import { Answered, KubernetesApi } from "../../../clients/kubernetes/kubernetes-api";
import type { FoundClass, RuntimeClasses } from "./runtime-class";
import type { NodeTaints, TaintedNodes } from "./taint";
import { markedTaints, TAINTED_BY, taintMark } from "./taint-mark";
import { nodeTaintState } from "../task";

/** Kubernetes behind its API, with whatever a kubeconfig can authenticate by. */
export class KubernetesCluster extends KubernetesApi implements Cluster, TaintedNodes, RuntimeClasses {
  private readonly classes: NodeV1Api;
  private readonly storage: StorageV1Api;

  constructor(config: KubeConfig, secrets: readonly string[]) {
    super(config, secrets);
    this.classes = config.makeApiClient(client().NodeV1Api);
    this.storage = config.makeApiClient(client().StorageV1Api);
  }

  async node(name: string): Promise<NodeState | undefined> {
    const node = await this.readNode(name);
    return node === undefined ? undefined : nodeState(node);
  }

  async isAlone(): Promise<boolean> {
    return (await this.call("nodes", () => this.core.listNode({ limit: 2 })))!.items.length < 2;
  }

  async cordon(name: string, annotation: string, value: string): Promise<void> {
    await this.patch(name, { metadata: { annotations: { [annotation]: value } }, spec: { unschedulable: true } });
  }

  async uncordon(name: string, annotation: string): Promise<void> {
    await this.patch(name, { metadata: { annotations: { [annotation]: null } }, spec: { unschedulable: null } });
  }

  async unmark(name: string, annotation: string): Promise<void> {
    await this.patch(name, { metadata: { annotations: { [annotation]: null } } });
  }

  async pods(node: string): Promise<PodState[]> {
    return (await this.listPodsOn(node)).map(podState);
  }

  async evict({ namespace, name, uid }: PodState): Promise<{ refused?: string }> {
    // The UID keeps a pod of the same name, made again by a StatefulSet meanwhile, from being evicted in its place.
    const body = { metadata: { namespace, name }, deleteOptions: { preconditions: { uid } } };
    const gone = { 404: {}, 409: {} };
    try {
      await this.call(
        `eviction of ${namespace}/${name}`,
        () => this.core.createNamespacedPodEviction({ namespace, name, body }),
        gone,
      );
      return {};
    } catch (error) {
      if (error instanceof Answered && isRefusal(error)) return { refused: error.words };
      throw error;
    }
  }

  async attachedVolumes(node: string): Promise<string[] | undefined> {
    const found = await this.call("volumes", () => this.storage.listVolumeAttachment(), { 403: undefined });
    return found?.items
      .filter(({ spec }) => spec.nodeName === node)
      .map(({ metadata, spec }) => spec.source.persistentVolumeName ?? metadata?.name ?? "");
  }

  async taints(name: string): ReturnType<TaintedNodes["taints"]> {
    const node = await this.readNode(name);
    if (node === undefined) return undefined;
    const taints = (node.spec?.taints ?? []).map((taint) => nodeTaintState.parse(JSON.parse(JSON.stringify(taint))));
    const ours = markedTaints(node.metadata?.annotations?.[TAINTED_BY]);
    return { taints, ours, version: node.metadata?.resourceVersion ?? "" };
  }

  async setTaints(name: string, { taints, ours }: NodeTaints, version: string): Promise<boolean> {
    const metadata = { resourceVersion: version, annotations: { [TAINTED_BY]: taintMark(ours) } };
    const body = { metadata, spec: { taints: taints.length > 0 ? taints : null } };
    return (await this.patch(name, body, { 409: "conflict" })) !== "conflict";
  }

  async runtimeClass(name: string): Promise<FoundClass | undefined> {
    const found = await this.call(`RuntimeClass ${name}`, () => this.classes.readRuntimeClass({ name }), {
      404: undefined,
    });
    if (found === undefined) return undefined;
    const { ownerReferences = [], annotations = {} } = found.metadata ?? {};
    const policy = ownerReferences.find(({ kind }) => kind === "ClusterPolicy")?.name;
    return { policy, handler: found.handler, annotations };
  }

  private async patch(name: string, body: object, instead: Record<number, any> = {}): Promise<unknown> {
    const { PatchStrategy, setHeaderOptions } = client();
    const options = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
    const request = () => this.core.patchNode({ name, body, fieldManager: "talos-gpu" }, options);
    return this.call<unknown>(`node ${name}`, request, instead);
  }
}

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

function nodeState(node: V1Node): NodeState {
  return {
    unschedulable: node.spec?.unschedulable === true,
    annotations: node.metadata?.annotations ?? {},
    ready: node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true,
  };
}

function podState(pod: V1Pod): PodState {
  const controller = pod.metadata?.ownerReferences?.find((owner) => owner.controller === true)?.kind;
  return {
    namespace: pod.metadata?.namespace ?? "",
    name: pod.metadata?.name ?? "",
    uid: pod.metadata?.uid ?? "",
    ...(controller === undefined ? {} : { controller }),
    mirror: pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined,
    finished: pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed",
    terminating: pod.metadata?.deletionTimestamp !== undefined,
    localStorage: (pod.spec?.volumes ?? []).some(
      ({ emptyDir }) => emptyDir !== undefined && emptyDir.medium !== "Memory",
    ),
    gpus: gpusOf(pod),
    finalizers: pod.metadata?.finalizers ?? [],
    ...(pod.spec?.terminationGracePeriodSeconds === undefined ? {} : { grace: pod.spec.terminationGracePeriodSeconds }),
  };
}

function gpusOf({ spec }: V1Pod): number {
  const limits = (spec?.containers ?? []).flatMap(({ resources }) => Object.entries(resources?.limits ?? {}));
  return limits.filter(([name]) => name.startsWith("nvidia.com/")).reduce((sum, [, count]) => sum + Number(count), 0);
}
