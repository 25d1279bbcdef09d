import type {
  V1ManagedFieldsEntry,
  V1Node,
  V1NodeCondition,
  V1PersistentVolume,
  V1Pod,
  V1ResourceSlice,
  V1StorageClass,
} from "@kubernetes/client-node";
import { offeredBy } from "../../clients/kubernetes/devices";
import { MANAGER } from "../../clients/kubernetes/manager";

/**
 * Field managers of the fields that a stack sets. Pulumi's Kubernetes provider creates an object with the field manager
 * `pulumi-kubernetes`, even if the object's annotation `pulumi.com/patchFieldManager` names another one. The object's
 * first update gives all fields to the manager in the annotation (pulumi-kubernetes ≥ 4.29,
 * provider/pkg/await/await.go, Creation and fixCSAFieldManagers).
 */
const stackManagers = [MANAGER, "pulumi-kubernetes"];

/**
 * Whether a stack set the StorageClass of a PersistentVolumeClaim. If the cluster filled in the class, no stack manages
 * the field. The field then has no manager, or the manager of Kubernetes' controller. Kubernetes records the fields
 * of a new object before admission sets the default class (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go).
 */
export const didStackSetStorageClass = (
  managedFields: Pick<V1ManagedFieldsEntry, "manager" | "fieldsV1">[],
): boolean =>
  managedFields.some(({ manager = "", fieldsV1 }) => {
    const { "f:spec": spec = {} } = (fieldsV1 ?? {}) as { "f:spec"?: object };
    return stackManagers.includes(manager) && "f:storageClassName" in spec;
  });

/** What can back a new PersistentVolumeClaim. */
export interface Storage {
  classes: { name: string; isDefault: boolean }[];
  /** StorageClasses of the volumes that no claim has yet; empty text for a volume without a class. */
  classesOfFreeVolumes: string[];
}

/**
 * Annotations that mark a StorageClass as the cluster's default. The admission plugin accepts the beta annotation, too
 * (kubernetes, pkg/volume/util/storageclass.go, IsDefaultAnnotation).
 */
const defaultAnnotations = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** The storage of a cluster with these StorageClasses and PersistentVolumes. */
export const storageOf = (
  classes: readonly Pick<V1StorageClass, "metadata">[],
  volumes: readonly Pick<V1PersistentVolume, "spec" | "status">[],
): Storage => ({
  classes: classes.map(({ metadata: { name = "", annotations = {} } = {} }) => ({
    name,
    isDefault: defaultAnnotations.some((annotation) => annotations[annotation] === "true"),
  })),
  classesOfFreeVolumes: volumes
    .filter(({ status }) => status?.phase === "Available")
    .map(({ spec }) => spec?.storageClassName ?? ""),
});

/** The properties of a node that identify its machine. */
export interface AskedNode {
  name: string;
  /** ID of the current boot, which both Kubernetes and Talos report. It changes with every boot. */
  bootId: string;
  addresses: string[];
  /** Release of the node's kubelet, e.g. `v1.35.0`; empty if the node does not report it. */
  kubelet: string;
  /** Whether the kubelet no longer reports, e.g. because the machine is off. Kubernetes then sets Ready to Unknown. */
  silent: boolean;
}

/** Properties that the program reads from each node. */
export const askedNode = ({ metadata, status }: V1Node): AskedNode => ({
  name: metadata?.name ?? "",
  bootId: status?.nodeInfo?.bootID ?? "",
  addresses: (status?.addresses ?? []).map(({ address }) => address),
  kubelet: status?.nodeInfo?.kubeletVersion ?? "",
  silent: readyCondition(status)?.status === "Unknown",
});

const readyCondition = (status: V1Node["status"]): V1NodeCondition | undefined =>
  status?.conditions?.find(({ type }) => type === "Ready");

/** The state of one node. */
export interface NodeState {
  /** Whether it is cordoned. */
  unschedulable: boolean;
  annotations: Record<string, string>;
  ready: boolean;
  /** Why the node is not ready, in the kubelet's words; empty if the node is ready or gives no reason. */
  unready: string;
  /** Release of the node's kubelet, e.g. `v1.35.0`; empty if the node does not report it. */
  kubelet: string;
  /**
   * Amount of each resource that the node offers, by the resource's name, and number of devices for ResourceClaims, by
   * DeviceClass.
   */
  allocatable: Record<string, string>;
}

/** Properties that the program reads from one node. */
export function nodeState(node: V1Node, slices: readonly V1ResourceSlice[] = []): NodeState {
  const { metadata, spec, status } = node;
  const ready = readyCondition(status);
  return {
    unschedulable: spec?.unschedulable === true,
    annotations: metadata?.annotations ?? {},
    ready: ready?.status === "True",
    unready: ready === undefined || ready.status === "True" ? "" : (ready.message ?? ""),
    kubelet: status?.nodeInfo?.kubeletVersion ?? "",
    allocatable: offeredBy(node, slices),
  };
}

/** The properties of a pod that a drain needs. */
export interface PodState {
  namespace: string;
  name: string;
  uid: string;
  /** Kind of the pod's controller, e.g. `DaemonSet`; undefined for a bare pod. */
  controller: string | undefined;
  /** Whether the pod mirrors a static pod of the kubelet. */
  mirror: boolean;
  /** Whether the pod has ended, with or without success. */
  finished: boolean;
  /** Whether the pod's deletion was requested. */
  terminating: boolean;
  /** Whether the pod has an emptyDir on the disk. Its content is lost with the pod. */
  localStorage: boolean;
  /** Number of cards, parts of cards (`nvidia.com/…`) and ResourceClaims that the pod requests. */
  gpus: number;
  /** The pod's termination grace period in seconds. */
  grace: number | undefined;
  /** Finalizers that block the pod's deletion. */
  finalizers: string[];
}

/** Properties that a drain reads from a pod. */
export function podState({ metadata = {}, spec, status }: V1Pod): PodState {
  const limits = (spec?.containers ?? []).flatMap(({ resources }) =>
    Object.entries(resources?.limits ?? {}),
  );
  const claims = (spec?.containers ?? []).flatMap(({ resources }) => resources?.claims ?? []);
  const ofNvidia = limits.filter(([name]) => name.startsWith("nvidia.com/"));
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    controller: metadata.ownerReferences?.find((owner) => owner.controller === true)?.kind,
    mirror: metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined,
    finished: status?.phase === "Succeeded" || status?.phase === "Failed",
    terminating: metadata.deletionTimestamp !== undefined,
    localStorage: (spec?.volumes ?? []).some(
      ({ emptyDir }) => emptyDir !== undefined && emptyDir.medium !== "Memory",
    ),
    gpus: ofNvidia.reduce((sum, [, count]) => sum + Number(count), claims.length),
    grace: spec?.terminationGracePeriodSeconds,
    finalizers: metadata.finalizers ?? [],
  };
}
