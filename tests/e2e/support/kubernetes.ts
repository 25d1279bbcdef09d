import * as https from "node:https";
import { readKubeconfig } from "../../../lab/kubernetes/kubeconfig";

/** An object of the Kubernetes API, as it comes. */

export type Found = any;

/** What the API server answered. */
export interface Answer {
  status: number;
  /** The object, or the text where it answers with none. */
  body: Found;
}

/** What a test does to a lab's cluster as somebody with kubectl would. */
export interface Kubernetes {
  /** Sends a request and gives the answer, also one that refuses. */
  answer(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Reads an object or a list. */
  read(path: string): Promise<Found>;
  /** Creates an object in a list. */
  create(path: string, object: unknown): Promise<void>;
  /** Changes an object by a merge patch. */
  patch(path: string, change: unknown): Promise<void>;
  /** Deletes an object, or every object of a list. */
  remove(path: string): Promise<void>;
}

/** The cluster of a kubeconfig: its content, or its file. */
export function kubernetesOf(kubeconfig: string): Kubernetes {
  const { server, ca, cert, key } = readKubeconfig(kubeconfig);
  const answer = (method: string, path: string, body?: unknown): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
      // No connection is kept: the server of the next request may be another one at the same address.
      const options = { method, headers, ca, cert, key, agent: false as const };
      const request = https.request(new URL(server + path), options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: text.startsWith("{") ? JSON.parse(text) : text }),
        );
      });
      request.on("error", reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const call = async (method: string, path: string, body?: unknown): Promise<Found> => {
    const { status, body: found } = await answer(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: HTTP ${status}: ${JSON.stringify(found)}`);
    return found;
  };
  return {
    answer,
    read: (path) => call("GET", path),
    create: (path, object) => call("POST", path, object),
    patch: (path, change) => call("PATCH", path, change),
    remove: (path) => call("DELETE", `${path}?propagationPolicy=Background`),
  };
}
