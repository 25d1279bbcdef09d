import type { LabEngine } from "../../../lab/engine";
import type { KubernetesObject } from "../../../lab/kubernetes/cluster";
import type { Running } from "../../../lab/run/running";

/** What is deleted from a stack by hand: one of each. */
type Kind = "RuntimeClass" | "Job" | "DaemonSet" | "label";

/**
 * Deletes by hand, as with kubectl.
 *
 * @returns what is not back, when it is asked.
 */
export async function deletedByHand(
  { kubernetes, spec }: Running,
  kinds: Kind[],
): Promise<() => Promise<string[]>> {
  const namespace = spec.devicePlugin!.namespace!;
  const node = `/api/v1/nodes/${Object.keys(spec.machines)[0]!}`;
  /** What is first in a list. */
  const first = (list: string) => ({
    there: async () => (await kubernetes.all<KubernetesObject>(list))[0]?.metadata?.name,
    remove: async () => {
      const [one] = await kubernetes.all<KubernetesObject>(list);
      await kubernetes.remove(`${list}/${one!.metadata!.name}`);
    },
  });
  const runtimeClass = "/apis/node.k8s.io/v1/runtimeclasses/nvidia";
  const actions: Record<Kind, { remove: () => Promise<unknown>; there: () => Promise<unknown> }> = {
    RuntimeClass: {
      remove: () => kubernetes.remove(runtimeClass),
      there: () => kubernetes.at(runtimeClass),
    },
    Job: first(`/apis/batch/v1/namespaces/${namespace}/jobs`),
    DaemonSet: first(`/apis/apps/v1/namespaces/${namespace}/daemonsets`),
    label: {
      // As kubectl does: a patch, which no other writer of the node comes between.
      remove: () => kubernetes.patch(node, { metadata: { labels: { slot: null } } }),
      there: async () => (await kubernetes.at<KubernetesObject>(node)).metadata?.labels?.["slot"],
    },
  };
  for (const kind of kinds) {
    if (!(await actions[kind].there()))
      throw new Error(`${kind}: the stack has made none, so nothing can be deleted`);
    await actions[kind].remove();
  }
  return async () => {
    const found = await Promise.all(
      kinds.map(async (kind) => Boolean(await actions[kind].there().catch(() => false))),
    );
    return kinds.filter((_, index) => !found[index]);
  };
}

/** URNs of all that a stack makes, but for what keeps data, which is refused, and what is no resource of its own. */
export async function replaceable(engine: LabEngine): Promise<string[]> {
  const urns = new Set<string>();
  await engine.preview({
    onEvent: (progress) => {
      if (
        progress.kind === "resource" &&
        !/^pulumi:|^talos-gpu:|:(Namespace|PersistentVolumeClaim)$/.test(progress.type)
      )
        urns.add(progress.urn);
    },
  });
  return [...urns];
}
