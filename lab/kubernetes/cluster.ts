import * as https from "node:https";
import type { KubeConfig, V1Node, V1ResourceSlice } from "@kubernetes/client-node";
import {
  KubernetesApi,
  type Kubeconfig,
  type ObjectKey,
  titleOf,
} from "../../components/clients/kubernetes/api";
import { KubernetesError } from "../../components/clients/kubernetes/error";
import type { MachineRole } from "../../components/recipe";
import { controlPlaneRole } from "../../components/recipe/machine/taints";
import { isReady } from "./node";
import { until } from "../until";
import { readKubeconfig } from "./kubeconfig";

/** Any object of the Kubernetes API. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata?: {
    name?: string;
    namespace?: string;
    uid?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [field: string]: unknown;
  };
  // the API's schema is the server's, and open
  [field: string]: any;
}

/** Options of an apply. */
interface ApplyOptions {
  readonly fieldManager: string;
  /** Whether it takes over fields of other owners instead of failing. */
  readonly force: boolean;
}

const keyOf = ({ apiVersion = "", kind = "", metadata = {} }: KubernetesObject): ObjectKey => {
  const { name = "", namespace = "default" } = metadata;
  return { apiVersion, kind, name, namespace };
};

/** Client of a lab's API server: the package's client, with the further operations of a kubectl user. */
export class Cluster extends KubernetesApi {
  /** @param kubeconfig path of the kubeconfig, for callers that use another client. */
  private constructor(readonly kubeconfig: KubeConfig) {
    super(kubeconfig);
  }

  /** Opens the cluster of a lab's kubeconfig. */
  static of(file: string): Cluster {
    const { server, ...access } = readKubeconfig(file);
    const agent = new https.Agent(access);
    const config: Kubeconfig = {
      getCurrentCluster: () => ({ name: "lab", server, skipTLSVerify: false }),
      getCurrentContext: () => "lab",
      getCurrentUser: () => ({ name: "lab" }),
      applyToHTTPSOptions: (options) =>
        Promise.resolve(void Object.assign(options, access, { agent })),
    };
    return new Cluster(config as KubeConfig);
  }

  /** Value at a path: an object, or a list. */
  async readPath<Found = any>(path: string): Promise<Found> {
    return (await this.ask<Found>(path, path))!;
  }

  /** The objects of a list. */
  all<Found>(path: string): Promise<Found[]> {
    return this.list<Found>(path, path);
  }

  async nodes(): Promise<Record<string, V1Node>> {
    const nodes = await this.all<V1Node>("/api/v1/nodes");
    return Object.fromEntries(nodes.map((node) => [node.metadata?.name ?? "", node]));
  }

  /** Devices that drivers publish for claims. */
  slices(): Promise<V1ResourceSlice[]> {
    return this.all("/apis/resource.k8s.io/v1/resourceslices");
  }

  /**
   * Waits until every node is ready and each control plane has Talos' label of its role, which is set after the kubelet
   * registers. So the lab then records the full state before the stack.
   *
   * @param roles of the nodes to wait for, by name.
   * @throws Error with the names of the nodes that are not ready within the limit.
   */
  async nodesReady(
    roles: Readonly<Record<string, MachineRole>>,
    seconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const unreadyNodes = async (): Promise<string[]> => {
      const nodes = await this.nodes().catch((): Record<string, V1Node> => ({}));
      const isFullyReady = (name: string): boolean => {
        const { [name]: node } = nodes;
        const hasRoleLabel =
          roles[name] !== "controlplane" || controlPlaneRole in (node?.metadata?.labels ?? {});
        return node !== undefined && isReady(node) && hasRoleLabel;
      };
      return Object.keys(roles).filter((name) => !isFullyReady(name));
    };
    const { seen: unready, holds } = await until(
      { seconds, every: 200, signal },
      unreadyNodes,
      (names) => names.length === 0,
    );
    if (holds) return;
    const problem = `${unready.join(", ")} not ready within ${seconds} s, so nothing can run there`;
    throw new Error(`nodes: ${problem}; see machines.log in the lab's folder (--keep keeps it)`);
  }

  /** Path of an object. Throws an error with code 404 if the API server lacks its kind. */
  async path(object: KubernetesObject): Promise<string> {
    const key = keyOf(object);
    const path = await this.pathOf(key);
    if (path !== undefined) return path;
    const problem = `the API server has no kind ${key.kind} in ${key.apiVersion}; is its definition installed?`;
    throw new KubernetesError("refused", titleOf(key), problem, 404);
  }

  /** Reads an object. Throws an error with code 404 if it does not exist. */
  async get(object: KubernetesObject): Promise<KubernetesObject> {
    return (await this.ask<KubernetesObject>(titleOf(keyOf(object)), await this.path(object)))!;
  }

  /** Applies an object, server-side. */
  async apply(object: KubernetesObject, { fieldManager, force }: ApplyOptions): Promise<void> {
    const path = `${await this.path(object)}?fieldManager=${fieldManager}&force=${force}`;
    // JSON is YAML, and the content type of an apply is YAML's
    const request = {
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body: object,
    } as const;
    await this.ask(titleOf(keyOf(object)), path, request);
  }

  /** Creates an object in the list at a path. */
  async create(path: string, object: object): Promise<void> {
    await this.ask(path, path, { method: "POST", body: object });
  }

  /** Changes the object at a path by a merge patch. */
  async patch(path: string, change: object): Promise<void> {
    await this.ask(path, path, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: change,
    });
  }

  /** Deletes the object or list at a path; the garbage collector deletes the dependents. */
  async remove(path: string): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" };
    await this.ask(path, path, { method: "DELETE", body });
  }

  /** Deletes an object if it exists, after its dependents. */
  async delete(object: KubernetesObject): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground" };
    const request = { method: "DELETE", body, instead: { 404: undefined } } as const;
    await this.ask(titleOf(keyOf(object)), await this.path(object), request);
  }

  /** Whether an object does not exist. */
  async isGone(object: KubernetesObject): Promise<boolean> {
    return (await this.read(keyOf(object))) === undefined;
  }
}
