import * as https from "node:https";
import { KubernetesApi, type ObjectKey, titleOf } from "../../components/clients/kubernetes/api";
import { KubernetesError } from "../../components/clients/kubernetes/error";
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

/** How an apply is done. */
interface ApplyOptions {
  readonly fieldManager: string;
  /** Takes fields from other owners instead of failing. */
  readonly force: boolean;
}

const keyOf = ({ apiVersion = "", kind = "", metadata = {} }: KubernetesObject): ObjectKey => {
  const { name = "", namespace = "default" } = metadata;
  return { apiVersion, kind, name, namespace };
};

/** The API server of a lab, and its objects: the product's own client, with what only somebody with kubectl does. */
export class Cluster extends KubernetesApi {
  /** Opens the cluster of a lab's kubeconfig (contents or path). */
  static of(kubeconfig: string): Cluster {
    const { server, ...access } = readKubeconfig(kubeconfig);
    const agent = new https.Agent(access);
    return new Cluster({
      getCurrentCluster: () => ({ name: "lab", server, skipTLSVerify: false }),
      getCurrentContext: () => "lab",
      getCurrentUser: () => ({ name: "lab" }),
      applyToHTTPSOptions: (options) => Promise.resolve(void Object.assign(options, access, { agent })),
    });
  }

  /** Path of an object. Error: 404 where the API server does not have its kind. */
  async path(object: KubernetesObject): Promise<string> {
    const key = keyOf(object);
    const path = await this.pathOf(key);
    if (path !== undefined) return path;
    const words = `the API server has no kind ${key.kind} in ${key.apiVersion}; is its definition installed?`;
    throw new KubernetesError("refused", titleOf(key), words, 404);
  }

  /** Reads an object. Error: 404 where it is not there. */
  async get(object: KubernetesObject): Promise<KubernetesObject> {
    return (await this.ask<KubernetesObject>(titleOf(keyOf(object)), await this.path(object)))!;
  }

  /** Applies an object, server-side. */
  async apply(object: KubernetesObject, { fieldManager, force }: ApplyOptions): Promise<void> {
    const path = `${await this.path(object)}?fieldManager=${fieldManager}&force=${force}`;
    // JSON is YAML, and the content type of an apply is YAML's
    const asking = { method: "PATCH", type: "application/apply-patch+yaml", body: object } as const;
    await this.ask(titleOf(keyOf(object)), path, asking);
  }

  /** Changes what is at a path by a merge patch. */
  async patch(path: string, change: object): Promise<void> {
    await this.ask(path, path, { method: "PATCH", type: "application/merge-patch+json", body: change });
  }

  /** Deletes an object, where it is there, dependents first. */
  async delete(object: KubernetesObject): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground" };
    const asking = { method: "DELETE", body, instead: { 404: undefined } } as const;
    await this.ask(titleOf(keyOf(object)), await this.path(object), asking);
  }

  /** Whether an object is not there. */
  async isGone(object: KubernetesObject): Promise<boolean> {
    return (await this.read(keyOf(object))) === undefined;
  }
}
