import * as https from "node:https";
import { readKubeconfig } from "../../../lab/providers/kubernetes/kubeconfig";

/** An object of the Kubernetes API, as it comes. */

export type Found = any;

/** What a test does to a lab's cluster as somebody with kubectl would. */
export interface Kubernetes {
  /** Reads an object or a list. */
  read(path: string): Promise<Found>;
  /** Creates an object in a list. */
  create(path: string, object: unknown): Promise<void>;
  /** Reads an object and writes what becomes of it; where somebody else was quicker, again. */
  edit(path: string, change: (object: Found) => void): Promise<void>;
  /** Changes an object by a merge patch. */
  patch(path: string, change: unknown): Promise<void>;
  /** Deletes an object, or every object of a list. */
  remove(path: string): Promise<void>;
}

/** The cluster of a kubeconfig. */
export function kubernetesOf(kubeconfig: string): Kubernetes {
  const { server, ca, cert, key } = readKubeconfig(kubeconfig);
  const answer = (method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
      const request = https.request(new URL(server + path), { method, headers, ca, cert, key }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on("error", reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const call = async (method: string, path: string, body?: unknown): Promise<Found> => {
    const { status, text } = await answer(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: HTTP ${status}: ${text}`);
    return text.startsWith("{") ? JSON.parse(text) : text;
  };
  return {
    read: (path) => call("GET", path),
    create: (path, object) => call("POST", path, object),
    edit: async (path, change) => {
      for (;;) {
        const object = await call("GET", path);
        change(object);
        const { status, text } = await answer("PUT", path, object);
        if (status < 300) return;
        if (status !== 409) throw new Error(`PUT ${path}: HTTP ${status}: ${text}`);
      }
    },
    patch: (path, change) => call("PATCH", path, change),
    remove: (path) => call("DELETE", `${path}?propagationPolicy=Background`),
  };
}
