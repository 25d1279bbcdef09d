import type { KubernetesObject } from "../../../kubernetes/cluster";
import { until } from "../../../until";
import type { Stand } from "../stand";

/** Undoes a fault. */
type Undo = () => Promise<void>;

/** Makes a fault in a healthy cluster with a real node, and gives its undo. */
export type Make = (scene: Stand) => Promise<Undo>;

const applied = { fieldManager: "talos-gpu-cases", force: true };

/** An object without the fields that the API server adds. */
function asMade(object: KubernetesObject): KubernetesObject {
  const { status: _s, metadata = {}, ...rest } = object;
  const {
    uid: _u,
    resourceVersion: _r,
    generation: _g,
    managedFields: _m,
    creationTimestamp: _c,
    ...said
  } = metadata;
  return { ...rest, metadata: said };
}

/** Deletes an object; the undo restores it. */
export async function taken(scene: Stand, object: KubernetesObject): Promise<Undo> {
  const { cluster, signal } = scene;
  const saved = asMade(await cluster.get(object));
  await cluster.delete(object);
  return async () => {
    await until({ seconds: 30, signal }, () => cluster.isGone(object), Boolean);
    await cluster.apply(saved, applied);
  };
}

/** Replaces an object by a different one. */
export async function replaced(
  scene: Stand,
  object: KubernetesObject,
  other: KubernetesObject,
): Promise<Undo> {
  const { cluster, signal } = scene;
  const undo = await taken(scene, object);
  await until({ seconds: 30, signal }, () => cluster.isGone(object), Boolean);
  await cluster.apply(other, applied);
  return async () => {
    await cluster.delete(object);
    await undo();
  };
}

/** The DaemonSet of the device plugin. */
export const plugin = ({ plan }: Stand): KubernetesObject => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { namespace: plan.kubernetes.release.namespace, name: "nvidia-device-plugin" },
});

/** Deletes the pods of the device plugin, which Kubernetes then starts again. */
function restarted({ plan, cluster }: Stand): Promise<void> {
  const { namespace } = plan.kubernetes.release;
  const selector = "labelSelector=app.kubernetes.io/name%3Dnvidia-device-plugin";
  return cluster.remove(`/api/v1/namespaces/${namespace}/pods?${selector}`);
}

/** A fault after which the plugin's pods are restarted, also after the undo. */
export const withRestart =
  (make: Make): Make =>
  async (scene) => {
    const undo = await make(scene);
    await restarted(scene);
    return async () => {
      await undo();
      await restarted(scene);
    };
  };

interface Container {
  env?: { name: string; value?: string }[];
  volumeMounts?: { mountPath: string }[];
}

/** Changes all containers of the plugin's pods, since only the chart knows which of them runs the plugin. */
export const containers = (change: (container: Container) => Container): Make =>
  withRestart(async (scene) => {
    const { cluster } = scene;
    const path = await cluster.path(plugin(scene));
    const { spec } = asMade(await cluster.get(plugin(scene)));
    const { containers: kept } = spec.template.spec as { containers: Container[] };
    const set = (all: Container[]): Promise<void> =>
      cluster.patch(path, { spec: { template: { spec: { containers: all } } } });
    await set(kept.map(change));
    return () => set(kept);
  });

/** A container's variables with one of them set. */
export const withVariable = (
  { env = [] }: Container,
  name: string,
  value: string,
): Required<Container>["env"] => [
  ...env.filter((variable) => variable.name !== name),
  { name, value },
];

/** Changes files of the node with the script `away`. `back` restores them, also if `away` fails. */
export const inNode =
  (away: string, back: string): Make =>
  async (scene) => {
    const undo = async (): Promise<void> => void (await scene.onNode(back));
    try {
      await scene.onNode(away);
    } catch (error) {
      await undo();
      throw error;
    }
    return undo;
  };

/** Removes a label from the node; the undo restores it with its earlier owner. */
export async function unlabelled(scene: Stand, label: string): Promise<Undo> {
  const { cluster, node } = scene;
  const object = { apiVersion: "v1", kind: "Node", metadata: { name: node } };
  const { metadata = {} } = await cluster.get(object);
  const fields = (metadata.managedFields ?? []) as Managed[];
  const owner = fields.find(
    ({ operation, fieldsV1 }) => operation === "Apply" && `f:${label}` in labelsOf(fieldsV1),
  );
  const path = await cluster.path(object);
  await cluster.patch(path, { metadata: { labels: { [label]: null } } });
  return async () => {
    if (owner === undefined)
      return cluster.patch(path, { metadata: { labels: { [label]: metadata.labels![label] } } });
    const { "f:annotations": annotations = {} } = owner.fieldsV1["f:metadata"] ?? {};
    const of = (names: object, values: Record<string, string> = {}): Record<string, string> =>
      Object.fromEntries(Object.entries(values).filter(([name]) => `f:${name}` in names));
    const own = {
      labels: of(labelsOf(owner.fieldsV1), metadata.labels),
      annotations: of(annotations, metadata.annotations),
    };
    const again = { ...object, metadata: { ...object.metadata, ...own } };
    await cluster.apply(again, { ...applied, fieldManager: owner.manager });
  };
}

interface Managed {
  manager: string;
  operation: string;
  fieldsV1: { "f:metadata"?: { "f:labels"?: object; "f:annotations"?: object } };
}

const labelsOf = (fields: Managed["fieldsV1"]): object => fields["f:metadata"]?.["f:labels"] ?? {};
