import type { KubernetesObject } from "@kubernetes/client-node";
import { someAtATime } from "../../clients/clock";
import { CallError, lastLine } from "../../clients/failure";
import type { KubernetesApi } from "../../clients/kubernetes/api";

/** A kind in the API server's discovery (meta/v1, APIResource). */
interface DiscoveredKind {
  kind: string;
  /** Plural name, as in paths. A subresource has a slash, e.g. `pods/log`. */
  name: string;
  namespaced: boolean;
  verbs: string[];
}

/** A kind whose objects are deleted with their namespace. */
interface ContainedKind extends DiscoveredKind {
  /** Path of the kind's group and version, e.g. `/apis/batch/v1`. */
  root: string;
}

/**
 * Whether Kubernetes itself creates the object in every namespace, so that the object does not show that the namespace
 * is in use: the root certificates (kubernetes, pkg/controller/certificates/rootcacertpublisher), the default
 * ServiceAccount (pkg/controller/serviceaccount/serviceaccounts_controller.go), and events, which Kubernetes deletes
 * after an hour.
 */
function isOfKubernetes({ root, kind }: ContainedKind, name: string | undefined): boolean {
  if (kind === "Event") return root === "/api/v1" || root.startsWith("/apis/events.k8s.io/");
  if (root !== "/api/v1") return false;
  return (
    (kind === "ServiceAccount" && name === "default") ||
    (kind === "ConfigMap" && name === "kube-root-ca.crt")
  );
}

/**
 * Media type that asks for names without contents: a namespace may have Secrets, and thousands of objects
 * (kubernetes.io/docs/reference/using-api/api-concepts).
 */
const NAMES_ALONE =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/**
 * Content of a namespace, each object as `Kind name`: all objects that a deletion of the namespace would delete, except
 * those that Kubernetes puts into every namespace. The content also names each kind that could not be listed. So an
 * empty list means that the namespace is empty.
 */
export async function contentOf(namespace: string, api: KubernetesApi): Promise<string[]> {
  const { kinds, unseen } = await containedKinds(api);
  const content: string[] = [...unseen];
  await someAtATime(kinds, async (contained) => {
    const { kind, name, root, verbs } = contained;
    if (!verbs.includes("list")) {
      content.push(`possibly a ${kind} (the API server cannot list this kind)`);
      return;
    }
    const path = `${root}/namespaces/${namespace}/${name}`;
    try {
      const objects = await api.list<KubernetesObject>(`${name} of ${namespace}`, path, {
        accept: NAMES_ALONE,
      });
      const userObjects = objects.filter(
        ({ metadata }) => !isOfKubernetes(contained, metadata?.name),
      );
      content.push(...userObjects.map(({ metadata }) => `${kind} ${metadata?.name ?? ""}`));
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      content.push(`possibly a ${kind} (not listed: ${lastLine(error)})`);
    }
  });
  return [...new Set(content)].sort();
}

/**
 * The kinds whose objects are deleted with a namespace: those that are namespaced and have the verb `delete`
 * (kubernetes, pkg/controller/namespace/deletion/namespaced_resources_deleter.go). The function asks for each version
 * of each API group, because a kind may exist in only one version. `unseen` names the groups whose API server does not
 * answer. While such a server is down, Kubernetes cannot finish the deletion of a namespace either.
 */
async function containedKinds(
  api: KubernetesApi,
): Promise<{ kinds: ContainedKind[]; unseen: string[] }> {
  const groups = await api.ask<{ groups: { versions: { groupVersion: string }[] }[] }>(
    "groups of kinds",
    "/apis",
  );
  const roots = (groups?.groups ?? []).map(({ versions }) =>
    versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
  );
  const kinds = new Map<string, ContainedKind>();
  const unseen: string[] = [];
  await someAtATime([["/api/v1"], ...roots], async (versions) => {
    for (const root of versions) {
      const group = root.slice(0, root.lastIndexOf("/"));
      try {
        const answer = await api.ask<{ resources: DiscoveredKind[] }>(`kinds of ${root}`, root);
        for (const kind of answer?.resources ?? []) {
          const isContained =
            kind.namespaced && !kind.name.includes("/") && kind.verbs.includes("delete");
          const key = `${group}/${kind.name}`;
          if (isContained && !kinds.has(key)) kinds.set(key, { ...kind, root });
        }
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        unseen.push(`possibly objects of ${root.slice(1)} (kinds not listed: ${lastLine(error)})`);
      }
    }
  });
  return { kinds: [...kinds.values()], unseen };
}
