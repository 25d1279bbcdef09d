import type { LabEngine } from "../../../lab/engine";
import type { KubernetesObject } from "../../../lab/kubernetes/cluster";
import type { RunningLab } from "../../../lab/run/running-lab";

/** Kinds of objects that the test deletes by hand, one object of each. */
type DeletableKind = "RuntimeClass" | "Job" | "DaemonSet" | "label";

/**
 * Deletes one object of each kind, as a user does with kubectl.
 *
 * @returns A function that lists the kinds whose object does not exist when it is called.
 */
export async function deleteObjects(
  { kubernetes, spec }: RunningLab,
  kinds: DeletableKind[],
): Promise<() => Promise<string[]>> {
  const namespace = spec.devicePlugin!.namespace!;
  const node = `/api/v1/nodes/${Object.keys(spec.machines)[0]!}`;
  /** First object of a list. */
  const firstOf = (list: string) => ({
    find: async () => (await kubernetes.all<KubernetesObject>(list))[0]?.metadata?.name,
    remove: async () => {
      const [object] = await kubernetes.all<KubernetesObject>(list);
      await kubernetes.remove(`${list}/${object!.metadata!.name}`);
    },
  });
  const runtimeClass = "/apis/node.k8s.io/v1/runtimeclasses/nvidia";
  const actions: Record<
    DeletableKind,
    { remove: () => Promise<unknown>; find: () => Promise<unknown> }
  > = {
    RuntimeClass: {
      remove: () => kubernetes.remove(runtimeClass),
      find: () => kubernetes.readPath(runtimeClass),
    },
    Job: firstOf(`/apis/batch/v1/namespaces/${namespace}/jobs`),
    DaemonSet: firstOf(`/apis/apps/v1/namespaces/${namespace}/daemonsets`),
    label: {
      // A patch, as kubectl sends: it cannot conflict with other writers of the node.
      remove: () => kubernetes.patch(node, { metadata: { labels: { slot: null } } }),
      find: async () =>
        (await kubernetes.readPath<KubernetesObject>(node)).metadata?.labels?.["slot"],
    },
  };
  for (const kind of kinds) {
    if (!(await actions[kind].find()))
      throw new Error(`${kind}: the stack has created none, so the test cannot delete one`);
    await actions[kind].remove();
  }
  return async () => {
    const exists = await Promise.all(
      kinds.map(async (kind) => Boolean(await actions[kind].find().catch(() => false))),
    );
    return kinds.filter((_, index) => !exists[index]);
  };
}

/** URNs of a stack's resources, except those that keep data, whose replacement is refused, and Pulumi's own. */
export async function replaceableUrns(engine: LabEngine): Promise<string[]> {
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
