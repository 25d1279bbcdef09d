import { defined } from "../mapping";
import type { ClaimSpec } from "../spec/index";

/**
 * Name of the DRA driver, which also qualifies the names of its attributes in CEL (dra-driver-nvidia-gpu v0.5.0,
 * cmd/gpu-kubelet-plugin/main.go, DriverName).
 */
const domain = "'gpu.nvidia.com'";

/**
 * Names of architectures in go-nvlib that differ from those in the tables (v0.10.0, pkg/nvlib/device/device.go,
 * GetArchitectureAsString).
 */
const architectures: Record<string, string> = { Ada: "Ada Lovelace" };

/**
 * The user's own claim or claim template that a workload names, in the form of a pod's spec; undefined if the workload
 * names none. The package does not know the conditions of such a claim.
 */
export const ownClaim = ({ resourceClaimName, resourceClaimTemplateName }: ClaimSpec = {}):
  Partial<ClaimSpec> | undefined =>
  (resourceClaimName ?? resourceClaimTemplateName) === undefined
    ? undefined
    : defined({ resourceClaimName, resourceClaimTemplateName });

/**
 * CEL expressions for a claim's conditions on each card. The expressions use attributes that the DRA driver publishes
 * for every whole card (dra-driver-nvidia-gpu v0.5.0, cmd/gpu-kubelet-plugin/deviceinfo.go, Attributes; partitions.go,
 * fullGpuCapacity).
 */
export function selectorsOf({ memory, architecture, product, cel = [] }: ClaimSpec): string[] {
  const equals = (attribute: string, text: string): string =>
    `device.attributes[${domain}].${attribute} == ${JSON.stringify(text)}`;
  return [
    ...(memory === undefined
      ? []
      : [`device.capacity[${domain}].memory.compareTo(quantity("${memory}")) >= 0`]),
    ...(architecture === undefined
      ? []
      : [equals("architecture", architectures[architecture] ?? architecture)]),
    ...(product === undefined ? [] : [equals("productName", product)]),
    ...cel,
  ];
}
