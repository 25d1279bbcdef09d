import type { ResourceV1ResourceClaim, V1Node, V1ResourceSlice } from "@kubernetes/client-node";
import { gpuProviders } from "../../recipe/facts/gpu-provider";

/** Path of the list of ResourceSlices. */
export const slicesPath = "/apis/resource.k8s.io/v1/resourceslices";

/**
 * Units that a node offers: the kubelet's resources, and whole cards that NVIDIA's DRA driver publishes, by
 * DeviceClass. A class selects devices by conditions; for `gpu.nvidia.com` these are the driver and the type
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
 * How many devices of the class each pod on the node holds by claims, by pod UID. A claim that several pods share
 * counts for the first of them. A driver has the name of its DeviceClass, and a pool has the name of its node.
 */
export function claimedIn(
  claims: readonly ResourceV1ResourceClaim[],
  node: string,
  deviceClass: string,
): Record<string, number> {
  const devicesByPod: Record<string, number> = {};
  for (const { status } of claims) {
    const results = status?.allocation?.devices?.results ?? [];
    const count = results.filter(
      ({ driver, pool }) => driver === deviceClass && pool === node,
    ).length;
    for (const { uid } of status?.reservedFor?.slice(0, 1) ?? [])
      devicesByPod[uid] = (devicesByPod[uid] ?? 0) + count;
  }
  return devicesByPod;
}
