import type { V1Node, V1ResourceSlice } from "@kubernetes/client-node";
import { gpuProviders } from "../../recipe/facts/gpu-provider";
import { statedMemory } from "../../recipe/facts/card";

/** A kind of card in a machine, as NVIDIA's programs on the machine's node report it. */
export interface ReportedCard {
  /** Name of the card, e.g. `NVIDIA-GeForce-RTX-4060-Ti`. */
  product: string;
  memoryMiB: number;
}

/**
 * Cards of a node with their memory. The labels of GPU Feature Discovery describe one kind of card (k8s-device-plugin,
 * internal/lm/resource.go: `gpu.product`, `gpu.memory` in MiB); the devices of the DRA driver describe each card
 * (dra-driver-nvidia-gpu v0.5.0, cmd/gpu-kubelet-plugin/deviceinfo.go). MIG devices do not count.
 */
export function reportedCards(
  node: Pick<V1Node, "metadata">,
  slices: readonly V1ResourceSlice[],
): ReportedCard[] {
  const { name, labels = {} } = node.metadata ?? {};
  const product = labels["nvidia.com/gpu.product"]?.replace(/-SHARED$/, "");
  const memoryMiB = Number(labels["nvidia.com/gpu.memory"]);
  const labelled =
    product !== undefined && memoryMiB > 0 && !product.includes("-MIG-")
      ? [{ product, memoryMiB }]
      : [];
  const published = slices
    .filter(({ spec }) => spec?.nodeName === name && spec?.driver === gpuProviders.dra.deviceClass)
    .flatMap(({ spec }) => spec?.devices ?? [])
    .filter(({ attributes }) => attributes?.["type"]?.string === "gpu")
    .flatMap(({ attributes, capacity }): ReportedCard[] => {
      const memory = capacity?.["memory"]?.value;
      const productName = attributes?.["productName"]?.string;
      const size = memory === undefined ? undefined : statedMemory({ memory });
      return productName === undefined || size === undefined
        ? []
        : [{ product: productName, memoryMiB: size }];
    });
  return [...labelled, ...published];
}
