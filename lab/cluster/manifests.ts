import * as fs from "node:fs";
import { parseAllDocuments } from "yaml";
import type { Cluster, KubernetesObject } from "../kubernetes/cluster";

/**
 * Applies what a cluster has before a stack comes, file by file (YAML) and in each file's order: definitions of kinds, a secret that a
 * workload reads, a storage class. Nothing of it is the stack's, so a destroy must leave it. Gives the objects as `Kind name`; throws with
 * the file's name where one cannot be read, is no Kubernetes object, or is refused.
 */
export async function applyManifests(cluster: Cluster, files: readonly string[]): Promise<string[]> {
  const applied: string[] = [];
  for (const file of files) {
    for (const object of objectsOf(file)) {
      await cluster.apply(object, { fieldManager: "lab", force: false }).catch((error: Error) => {
        throw new Error(
          `--manifest ${file}: ${error.message}; the stack would find another cluster than the one meant; mend the file`,
          { cause: error },
        );
      });
      applied.push(`${object.kind} ${object.metadata?.name}`);
    }
  }
  return applied;
}

function objectsOf(file: string): KubernetesObject[] {
  const documents = parseAllDocuments(fs.readFileSync(file, "utf8")).map((document, index) => {
    const object = (document as { toJS(): unknown }).toJS() as KubernetesObject | null;
    if (object === null) return undefined;
    if (object.apiVersion && object.kind && object.metadata?.name) return object;
    throw new Error(
      `--manifest ${file}: document ${index + 1} is no Kubernetes object; it needs apiVersion, kind and metadata.name; add what is missing`,
    );
  });
  return documents.filter((object) => object !== undefined);
}
