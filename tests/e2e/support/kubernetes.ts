import * as https from "node:https";
import { readKubeconfig } from "../../../lab/providers/kubernetes/kubeconfig";

/** What a test does to a lab's cluster as somebody with kubectl would. */
export interface Kubernetes {
  /** Changes an object by a merge patch. */
  patch(path: string, change: unknown): Promise<void>;
  /** Deletes an object, or every object of a list. */
  remove(path: string): Promise<void>;
}

/** The cluster of a kubeconfig. */
export function kubernetesOf(kubeconfig: string): Kubernetes {
  const { server, ca, cert, key } = readKubeconfig(kubeconfig);
  const call = (method: string, path: string, body?: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": "application/merge-patch+json" };
      const request = https.request(new URL(server + path), { method, headers, ca, cert, key }, (response) => {
        response.resume();
        const status = response.statusCode ?? 0;
        response.on("end", () => (status < 300 ? resolve() : reject(new Error(`${method} ${path}: HTTP ${status}`))));
      });
      request.on("error", reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return {
    patch: (path, change) => call("PATCH", path, change),
    remove: (path) => call("DELETE", `${path}?propagationPolicy=Background`),
  };
}
