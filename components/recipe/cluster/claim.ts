import { defined } from "../mapping";
import type { ClaimSpec } from "../spec/index";

/**
 * The driver's name, which is the domain of its attributes (dra-driver-nvidia-gpu v0.5.0,
 * cmd/gpu-kubelet-plugin/main.go, DriverName).
 */
const domain = "'gpu.nvidia.com'";

/**
 * Words of go-nvlib that are not those of the tables (v0.10.0, pkg/nvlib/device/device.go, GetArchitectureAsString).
 */
const architectures: Record<string, string> = { Ada: "Ada Lovelace" };

/**
 * The claim of the user's own that a workload names, or its template, as a pod's spec has it. Its conditions are
 * unknown.
 */
export const ownClaim = ({ resourceClaimName, resourceClaimTemplateName }: ClaimSpec = {}):
  Partial<ClaimSpec> | undefined =>
  (resourceClaimName ?? resourceClaimTemplateName) === undefined
    ? undefined
    : defined({ resourceClaimName, resourceClaimTemplateName });

/**
 * Conditions of a claim for each card, in CEL. The driver publishes the attributes that are named here for every
 * whole card (dra-driver-nvidia-gpu v0.5.0, cmd/gpu-kubelet-plugin/deviceinfo.go, Attributes; partitions.go,
 * fullGpuCapacity).
 */
export function selectorsOf({ memory, architecture, product, cel = [] }: ClaimSpec): string[] {
  const is = (attribute: string, text: string): string =>
    `device.attributes[${domain}].${attribute} == ${JSON.stringify(text)}`;
  return [
    ...(memory === undefined
      ? []
      : [`device.capacity[${domain}].memory.compareTo(quantity("${memory}")) >= 0`]),
    ...(architecture === undefined
      ? []
      : [is("architecture", architectures[architecture] ?? architecture)]),
    ...(product === undefined ? [] : [is("productName", product)]),
    ...cel,
  ];
}
