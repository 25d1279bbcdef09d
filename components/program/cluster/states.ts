import type { V1ManagedFieldsEntry, V1Node, V1Pod, V1ResourceSlice } from "@kubernetes/client-node";
import { offeredBy } from "../../clients/kubernetes/devices";
import { MANAGER } from "../../clients/kubernetes/manager";

/**
 * Field managers of what a stack says. Pulumi's Kubernetes provider creates an object under a name of its own, whatever its annotation
 * `pulumi.com/patchFieldManager` says; the first update hands all fields to the annotation's manager (pulumi-kubernetes ≥ 4.29,
 * provider/pkg/await/await.go, Creation and fixCSAFieldManagers).
 */
const stackManagers = [MANAGER, "pulumi-kubernetes"];

/**
 * Whether a claim's class was given by a stack. What the cluster filled in has no owner, or belongs to Kubernetes' controller: the fields
 * of a create are noted before admission sets the default class (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go).
 */
export const isClassGiven = (
  managedFields: Pick<V1ManagedFieldsEntry, "manager" | "fieldsV1">[],
): boolean =>
  managedFields.some(({ manager = "", fieldsV1 }) => {
    const { "f:spec": spec = {} } = (fieldsV1 ?? {}) as { "f:spec"?: object };
    return stackManagers.includes(manager) && "f:storageClassName" in spec;
  });

/** A node, as far as it tells which machine it is. */
export type AskedNode = ReturnType<typeof askedNode>;

/** What of each node is asked. */
export const askedNode = ({ metadata, status }: V1Node) => ({
  name: metadata?.name ?? "",
  /** Changes with every boot; the machine has the same one. */
  bootId: status?.nodeInfo?.bootID ?? "",
  addresses: (status?.addresses ?? []).map(({ address }) => address),
});

/** What is asked of one node. */
export type NodeState = ReturnType<typeof nodeState>;

/** What of one node is asked. */
export function nodeState(node: V1Node, slices: readonly V1ResourceSlice[] = []) {
  const { metadata, spec, status } = node;
  return {
    unschedulable: spec?.unschedulable === true,
    annotations: metadata?.annotations ?? {},
    ready:
      status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ===
      true,
    /** Units of resources that it offers, by their names, and devices for claims, by their class. */
    allocatable: offeredBy(node, slices),
  };
}

/** What a drain asks of a pod. */
export type PodState = ReturnType<typeof podState>;

/** What of a pod a drain asks. */
export function podState({ metadata = {}, spec, status }: V1Pod) {
  const limits = (spec?.containers ?? []).flatMap(({ resources }) =>
    Object.entries(resources?.limits ?? {}),
  );
  const claims = (spec?.containers ?? []).flatMap(({ resources }) => resources?.claims ?? []);
  const ofNvidia = limits.filter(([name]) => name.startsWith("nvidia.com/"));
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    /** Kind of its controller, e.g. `DaemonSet`; undefined for a bare pod. */
    controller: metadata.ownerReferences?.find((owner) => owner.controller === true)?.kind,
    /** Whether it mirrors a static pod of the kubelet. */
    mirror: metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined,
    /** Whether it ran to its end. */
    finished: status?.phase === "Succeeded" || status?.phase === "Failed",
    /** Whether its deletion was requested. */
    terminating: metadata.deletionTimestamp !== undefined,
    /** Whether it keeps something in an emptyDir, which goes with it. */
    localStorage: (spec?.volumes ?? []).some(
      ({ emptyDir }) => emptyDir !== undefined && emptyDir.medium !== "Memory",
    ),
    /** Cards, or parts of them, that it holds (`nvidia.com/…`), and claims. */
    gpus: ofNvidia.reduce((sum, [, count]) => sum + Number(count), claims.length),
    /** Seconds that it may take to end. */
    grace: spec?.terminationGracePeriodSeconds,
    /** What else must happen before it is gone, in the words of its metadata. */
    finalizers: metadata.finalizers ?? [],
  };
}
