import type { LabEngine } from "../../../lab/engine";
import type { KubernetesObject } from "../../../lab/kubernetes/cluster";
import type { RunningLab } from "../../../lab/run/running-lab";

/** Kinds of objects that the test deletes by hand, one object of each. */
type Kind = "RuntimeClass" | "Job" | "DaemonSet" | "label";

/**
 * Deletes one object of each kind, as a user does with kubectl.
 *
 * @returns A function that lists the objects that do not exist again when it is called.
 */
export async function deletedByHand(
  { kubernetes, spec }: RunningLab,
  kinds: Kind[],
): Promise<() => Promise<string[]>> {
  const namespace = spec.devicePlugin!.namespace!;
  const node = `/api/v1/nodes/${Object.keys(spec.machines)[0]!}`;
  /** First object of a list. */
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
      there: () => kubernetes.readPath(runtimeClass),
    },
    Job: first(`/apis/batch/v1/namespaces/${namespace}/jobs`),
    DaemonSet: first(`/apis/apps/v1/namespaces/${namespace}/daemonsets`),
    label: {
      // A patch, as kubectl sends: it cannot conflict with other writers of the node.
      remove: () => kubernetes.patch(node, { metadata: { labels: { slot: null } } }),
      there: async () =>
        (await kubernetes.readPath<KubernetesObject>(node)).metadata?.labels?.["slot"],
    },
  };
  for (const kind of kinds) {
    if (!(await actions[kind].there()))
      throw new Error(`${kind}: the stack has created none, so the test cannot delete one`);
    await actions[kind].remove();
  }
  return async () => {
    const found = await Promise.all(
      kinds.map(async (kind) => Boolean(await actions[kind].there().catch(() => false))),
    );
    return kinds.filter((_, index) => !found[index]);
  };
}

/** URNs of a stack's resources, except those that keep data, whose replacement is refused, and Pulumi's own. */
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
