import type { KubernetesObject } from "../../providers/kubernetes/api";
import type { Say } from "../../phases";
import { withPods } from "./pods";
import type { Stand } from "./stand";

/** Takes back what was made. */
export type Undo = (say: Say) => Promise<void>;

export const applied = { fieldManager: "talos-gpu-cases", force: true, dryRun: false };

export const patch = (
  stand: Stand,
  path: string,
  change: unknown,
  contentType = "application/merge-patch+json",
): Promise<unknown> =>
  stand.cluster.api.request({ method: "PATCH", path, body: change, contentType, signal: stand.signal });

/** An object as it was made, without what the server adds. */
function asMade(object: KubernetesObject): KubernetesObject {
  const { status: _s, metadata = {}, ...rest } = object;
  const { uid: _u, resourceVersion: _r, generation: _g, managedFields: _m, creationTimestamp: _c, ...said } = metadata;
  return { ...rest, metadata: said };
}

/** Deletes an object; undone, it is there again. */
export async function taken(stand: Stand, object: KubernetesObject): Promise<Undo> {
  const saved = asMade(await stand.cluster.get(object, stand.signal));
  await stand.cluster.delete(object, undefined, stand.signal);
  return async () => {
    const gone = (): Promise<boolean> =>
      stand.cluster.get(object, stand.signal).then(
        () => false,
        () => true,
      );
    await stand.until(30, gone);
    await stand.cluster.apply(saved, { ...applied, signal: stand.signal });
  };
}

export const plugin = ({ plan }: Stand): KubernetesObject => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { namespace: plan.kubernetes.release.namespace, name: "nvidia-device-plugin" },
});

/** The pods of the device plugin begin anew. */
export async function restarted(stand: Stand): Promise<void> {
  const namespace = stand.plan.kubernetes.release.namespace;
  await stand.lab.kubernetes.core.deleteCollectionNamespacedPod({
    namespace,
    labelSelector: "app.kubernetes.io/name=nvidia-device-plugin",
  });
}

/** Sets a variable of the plugin's container. */
export const environment =
  (name: string, value: string) =>
  async (stand: Stand): Promise<Undo> => {
    const path = await stand.cluster.path(plugin(stand));
    const { spec } = asMade(await stand.cluster.get(plugin(stand), stand.signal));
    const { containers } = spec.template.spec as { containers: { name: string; env?: { name: string }[] }[] };
    const [first, ...others] = containers;
    const env = [...(first!.env ?? []).filter((variable) => variable.name !== name), { name, value }];
    await patch(stand, path, { spec: { template: { spec: { containers: [{ ...first, env }, ...others] } } } });
    return async () => {
      await patch(stand, path, { spec: { template: { spec: { containers } } } });
      await restarted(stand); // a new pod does not wait as long as one that crashed
    };
  };

/** Does something in the node's own files, by a pod, before or after which the plugin begins anew. */
export const inNode =
  (id: string, folders: Record<string, string>, away: string, back: string) =>
  async (stand: Stand): Promise<Undo> => {
    const act = (script: string, when: string): Promise<void> =>
      withPods(stand, async (pods) => {
        const { phase, said } = await pods.run(`${id}-${when}`, {
          image: stand.plan.kubernetes.images.powerLimit,
          script,
          folders,
        });
        if (phase !== "Succeeded") throw new Error(`${id}, ${when}: ${phase}: ${said}`);
      });
    const undo = async (): Promise<void> => {
      await act(back, "back");
      await restarted(stand);
    };
    try {
      await act(away, "away");
    } catch (error) {
      await undo();
      throw error;
    }
    await restarted(stand);
    return undo;
  };
