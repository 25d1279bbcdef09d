import { PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import type { LabEngine } from "../../../lab/engine";
import type { Running } from "../../../lab/run/running";

/** What of a stack somebody deletes: one of each. */
type Kind = "RuntimeClass" | "Job" | "DaemonSet" | "label";

/**
 * Deletes by hand, as with kubectl.
 *
 * @returns what is not back, when it is asked.
 */
export async function deletedByHand({ kubernetes, spec }: Running, kinds: Kind[]): Promise<() => Promise<string[]>> {
  const { core, apps, batch, nodeApi } = kubernetes;
  const namespace = spec.devicePlugin!.namespace!;
  const node = Object.keys(spec.machines)[0]!;
  const label = async (): Promise<unknown> => (await core.readNode({ name: node })).metadata?.labels?.["slot"];
  const named = async (kind: Kind): Promise<string | undefined> => {
    const { items } = await (kind === "Job"
      ? batch.listNamespacedJob({ namespace })
      : apps.listNamespacedDaemonSet({ namespace }));
    return items[0]?.metadata?.name;
  };
  const actions: Record<Kind, { remove: () => Promise<unknown>; there: () => Promise<unknown> }> = {
    RuntimeClass: {
      remove: () => nodeApi.deleteRuntimeClass({ name: "nvidia" }),
      there: () => nodeApi.readRuntimeClass({ name: "nvidia" }),
    },
    Job: {
      remove: async () =>
        batch.deleteNamespacedJob({ namespace, name: (await named("Job"))!, propagationPolicy: "Background" }),
      there: () => named("Job"),
    },
    DaemonSet: {
      remove: async () => apps.deleteNamespacedDaemonSet({ namespace, name: (await named("DaemonSet"))! }),
      there: () => named("DaemonSet"),
    },
    label: {
      // As kubectl does: a patch, which no other writer of the node comes between.
      remove: () => {
        const options = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
        return core.patchNode({ name: node, body: { metadata: { labels: { slot: null } } } }, options);
      },
      there: label,
    },
  };
  for (const kind of kinds) {
    if (!(await actions[kind].there())) throw new Error(`${kind}: the stack has made none, so nothing can be deleted`);
    await actions[kind].remove();
  }
  return async () => {
    const found = await Promise.all(kinds.map(async (kind) => Boolean(await actions[kind].there().catch(() => false))));
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
