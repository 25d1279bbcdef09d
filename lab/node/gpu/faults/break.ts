import type { KubernetesObject } from "../../../kubernetes/cluster";
import { until } from "../../../until";
import type { GpuLab } from "../gpu-lab";

/** Undoes a fault. */
type Undo = () => Promise<void>;

/** Makes a fault in a healthy cluster with a real node, and gives its undo. */
export type MakeFault = (gpuLab: GpuLab) => Promise<Undo>;

const applyOptions = { fieldManager: "talos-gpu-cases", force: true };

/** An object without the fields that the API server adds. */
function withoutServerFields(object: KubernetesObject): KubernetesObject {
  const { status: _status, metadata = {}, ...rest } = object;
  const {
    uid: _u,
    resourceVersion: _r,
    generation: _g,
    managedFields: _m,
    creationTimestamp: _c,
    ...ownMetadata
  } = metadata;
  return { ...rest, metadata: ownMetadata };
}

/** Deletes an object; the undo restores it. */
export async function deleteObject(gpuLab: GpuLab, object: KubernetesObject): Promise<Undo> {
  const { cluster, signal } = gpuLab;
  const saved = withoutServerFields(await cluster.get(object));
  await cluster.delete(object);
  return async () => {
    await until({ seconds: 30, signal }, () => cluster.isGone(object), Boolean);
    await cluster.apply(saved, applyOptions);
  };
}

/** Replaces an object by a different one. */
export async function replaceObject(
  gpuLab: GpuLab,
  object: KubernetesObject,
  replacement: KubernetesObject,
): Promise<Undo> {
  const { cluster, signal } = gpuLab;
  const undo = await deleteObject(gpuLab, object);
  await until({ seconds: 30, signal }, () => cluster.isGone(object), Boolean);
  await cluster.apply(replacement, applyOptions);
  return async () => {
    await cluster.delete(object);
    await undo();
  };
}

/** The DaemonSet of the device plugin. */
export const pluginDaemonSet = ({ plan }: GpuLab): KubernetesObject => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { namespace: plan.kubernetes.release.namespace, name: "nvidia-device-plugin" },
});

/** Deletes the pods of the device plugin, which Kubernetes then starts again. */
function restartPlugin({ plan, cluster }: GpuLab): Promise<void> {
  const { namespace } = plan.kubernetes.release;
  const selector = "labelSelector=app.kubernetes.io/name%3Dnvidia-device-plugin";
  return cluster.remove(`/api/v1/namespaces/${namespace}/pods?${selector}`);
}

/** A fault after which the plugin's pods are restarted, also after the undo. */
export const withRestart =
  (make: MakeFault): MakeFault =>
  async (gpuLab) => {
    const undo = await make(gpuLab);
    await restartPlugin(gpuLab);
    return async () => {
      await undo();
      await restartPlugin(gpuLab);
    };
  };

interface Container {
  env?: { name: string; value?: string }[];
  volumeMounts?: { mountPath: string }[];
}

/** Changes all containers of the plugin's pods, since only the chart knows which of them runs the plugin. */
export const changeContainers = (change: (container: Container) => Container): MakeFault =>
  withRestart(async (gpuLab) => {
    const { cluster } = gpuLab;
    const path = await cluster.path(pluginDaemonSet(gpuLab));
    const { spec } = withoutServerFields(await cluster.get(pluginDaemonSet(gpuLab)));
    const { containers: originalContainers } = spec.template.spec as { containers: Container[] };
    const setContainers = (podContainers: Container[]): Promise<void> =>
      cluster.patch(path, { spec: { template: { spec: { containers: podContainers } } } });
    await setContainers(originalContainers.map(change));
    return () => setContainers(originalContainers);
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

/** Changes files of the node with `breakScript`. `restoreScript` restores them, also if `breakScript` fails. */
export const changeNodeFiles =
  (breakScript: string, restoreScript: string): MakeFault =>
  async (gpuLab) => {
    const undo = async (): Promise<void> => void (await gpuLab.onNode(restoreScript));
    try {
      await gpuLab.onNode(breakScript);
    } catch (error) {
      await undo();
      throw error;
    }
    return undo;
  };

/** Removes a label from the node; the undo restores it with its earlier owner. */
export async function removeLabel(gpuLab: GpuLab, label: string): Promise<Undo> {
  const { cluster, node } = gpuLab;
  const object = { apiVersion: "v1", kind: "Node", metadata: { name: node } };
  const { metadata = {} } = await cluster.get(object);
  const fields = (metadata.managedFields ?? []) as ManagedFields[];
  const owner = fields.find(
    ({ operation, fieldsV1 }) => operation === "Apply" && `f:${label}` in labelsOf(fieldsV1),
  );
  const path = await cluster.path(object);
  await cluster.patch(path, { metadata: { labels: { [label]: null } } });
  return async () => {
    if (owner === undefined)
      return cluster.patch(path, { metadata: { labels: { [label]: metadata.labels![label] } } });
    const { "f:annotations": annotations = {} } = owner.fieldsV1["f:metadata"] ?? {};
    const valuesOfFields = (
      names: object,
      values: Record<string, string> = {},
    ): Record<string, string> =>
      Object.fromEntries(Object.entries(values).filter(([name]) => `f:${name}` in names));
    const ownedMetadata = {
      labels: valuesOfFields(labelsOf(owner.fieldsV1), metadata.labels),
      annotations: valuesOfFields(annotations, metadata.annotations),
    };
    const restored = { ...object, metadata: { ...object.metadata, ...ownedMetadata } };
    await cluster.apply(restored, { ...applyOptions, fieldManager: owner.manager });
  };
}

interface ManagedFields {
  manager: string;
  operation: string;
  fieldsV1: { "f:metadata"?: { "f:labels"?: object; "f:annotations"?: object } };
}

const labelsOf = (fields: ManagedFields["fieldsV1"]): object =>
  fields["f:metadata"]?.["f:labels"] ?? {};
