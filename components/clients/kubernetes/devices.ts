import type { ResourceV1ResourceClaim, V1Node, V1ResourceSlice } from "@kubernetes/client-node";
import { gpuProviders } from "../../recipe/facts/gpu-provider";

/** Where slices are listed. */
export const slicesPath = "/apis/resource.k8s.io/v1/resourceslices";

/**
 * Offers of a node: resources of the kubelet, and whole cards that NVIDIA's DRA driver publishes, by their class. The
 * selector of a class has its conditions: for `gpu.nvidia.com` they are the driver and the type
 * (dra-driver-nvidia-gpu v0.5.0, deployments/helm, templates/deviceclass-gpu.yaml).
 */
export function offeredBy(
  { metadata, status }: V1Node,
  slices: readonly V1ResourceSlice[],
): Record<string, string> {
  const { deviceClass } = gpuProviders.dra;
  const published = slices
    .filter(({ spec }) => spec?.nodeName === metadata?.name && spec?.driver === deviceClass)
    .flatMap(({ spec }) => spec?.devices ?? [])
    .filter(({ attributes }) => attributes?.["type"]?.string === "gpu");
  return {
    ...status?.allocatable,
    ...(published.length > 0 ? { [deviceClass]: String(published.length) } : {}),
  };
}

/**
 * Devices that pods have by claims on a node, by the UID of the pod; shared ones count once. The driver is named as
 * its class, a pool as its node.
 */
export function claimedIn(
  claims: readonly ResourceV1ResourceClaim[],
  node: string,
  deviceClass: string,
): Record<string, number> {
  const had: Record<string, number> = {};
  for (const { status } of claims) {
    const results = status?.allocation?.devices?.results ?? [];
    const count = results.filter(
      ({ driver, pool }) => driver === deviceClass && pool === node,
    ).length;
    for (const { uid } of status?.reservedFor?.slice(0, 1) ?? [])
      had[uid] = (had[uid] ?? 0) + count;
  }
  return had;
}
