import type { ResourceV1ResourceClaim, V1Node, V1ResourceSlice } from "@kubernetes/client-node";
import { gpuProviders } from "../../recipe/facts/gpu-provider";

/** Path of the list of ResourceSlices. */
export const slicesPath = "/apis/resource.k8s.io/v1/resourceslices";

/**
 * What a node offers: amounts of the kubelet's resources by name, and the number of whole cards that NVIDIA's DRA
 * driver publishes, by DeviceClass. The DeviceClass `gpu.nvidia.com` selects devices by their driver and type
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
 * How many devices of a DeviceClass each pod on the node holds through ResourceClaims, by pod UID. A claim that several
 * pods share counts for the first of them. The function finds the devices by the driver and the pool in a claim's
 * status: the DeviceClass has the same name as NVIDIA's DRA driver, and the driver names each pool of devices after the
 * node.
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
