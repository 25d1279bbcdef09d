import type { BatchV1Api, KubeConfig, V1Job, V1Node, V1Pod } from "@kubernetes/client-node";
import { client } from "../../../clients/kubernetes/client";
import { KubernetesApi } from "../../../clients/kubernetes/kubernetes-api";
import { UNTESTED } from "../task/gate";

/** The cluster as the gate sees it. */
export type TestedCluster = Pick<GateCluster, keyof GateCluster>;

/** The real cluster behind its API. */
export class GateCluster extends KubernetesApi {
  private readonly batch: BatchV1Api;

  constructor(config: KubeConfig, secrets: readonly string[]) {
    super(config, secrets);
    this.batch = config.makeApiClient(client().BatchV1Api);
  }

  /** The Jobs of a namespace that this package made. */
  async jobs(namespace: string): Promise<V1Job[]> {
    const labelSelector = "app.kubernetes.io/managed-by=talos-gpu";
    const list = await this.call(`Jobs of ${namespace}`, () =>
      this.batch.listNamespacedJob({ namespace, labelSelector }),
    );
    return list!.items;
  }

  /** Pods that a Job of this name made. */
  async podsOfJob(namespace: string, job: string): Promise<V1Pod[]> {
    const labelSelector = `batch.kubernetes.io/job-name=${job}`;
    const list = await this.call(`pods of Job ${namespace}/${job}`, () =>
      this.core.listNamespacedPod({ namespace, labelSelector }),
    );
    return list!.items;
  }

  /** A node; undefined when there is none of this name. */
  node(name: string): Promise<V1Node | undefined> {
    return this.readNode(name);
  }

  /** All pods of a node. */
  podsOn(node: string): Promise<V1Pod[]> {
    return this.listPodsOn(node);
  }

  /** Suspends a Job, which takes its pods away, and notes why on it. */
  async suspend(namespace: string, name: string, why: string): Promise<void> {
    const body = { metadata: { annotations: { [UNTESTED]: why } }, spec: { suspend: true } };
    const { PatchStrategy, setHeaderOptions } = client();
    const options = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
    await this.call(`Job ${namespace}/${name}`, () =>
      this.batch.patchNamespacedJob({ namespace, name, body, fieldManager: "talos-gpu-gate" }, options),
    );
  }

  /** Deletes a Job with its pods. It is gone a moment later. */
  async remove({ metadata }: V1Job): Promise<void> {
    const [name, namespace, uid] = [metadata!.name!, metadata!.namespace!, metadata!.uid!];
    const body = { propagationPolicy: "Background", preconditions: { uid } };
    const gone = { 404: undefined, 409: undefined };
    await this.call<unknown>(
      `Job ${namespace}/${name}`,
      () => this.batch.deleteNamespacedJob({ name, namespace, body }),
      gone,
    );
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
    const request = () =>
      this.batch.createNamespacedJob({ namespace: namespace!, body, fieldManager: "talos-gpu-gate" });
    return (await this.call<V1Job | undefined>(`Job ${namespace}/${name}`, request, { 409: undefined })) !== undefined;
  }
}
