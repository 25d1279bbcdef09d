import type { CheckContext, CheckedMachine } from "./check";
import type { GpuRequest } from "../stack/workloads";
import { isOfArm64, memoryBounds } from "../facts/card";
import type { CardUse } from "../facts/machine-facts";
import { workloadResource } from "../facts/sharing";
import { quantityValue } from "../rules/quantity";
import { gpuPresent } from "../machine/machine-recipe";
import { controlPlaneRole } from "../machine/taints";

/** Pattern of the labels that Kubernetes, Talos, Node Feature Discovery and NVIDIA's programs set. */
const setByOthers =
  /^((.*\.)?kubernetes\.io|(.*\.)?k8s\.io|(.*\.)?nvidia\.com|extensions\.talos\.dev|feature\.node\.kubernetes\.io)\//;

/** Labels that the kubelet sets on every Talos node, each with its possible values. */
export const ofKubelet: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/os": ["linux"],
  "kubernetes.io/arch": ["amd64", "arm64"],
  "beta.kubernetes.io/os": ["linux"],
  "beta.kubernetes.io/arch": ["amd64", "arm64"],
};

/**
 * Whether a machine's node may have all labels of a selector. A label that matches `setByOthers` may have any value.
 */
export const mayMatch = (
  { name, recipe, spec, cards }: CheckedMachine,
  selector: Record<string, string>,
): boolean =>
  Object.entries(selector).every(([key, value]) => {
    if (key === "kubernetes.io/hostname") return name === value;
    if (key.endsWith("kubernetes.io/arch") && cards.some(isOfArm64)) return value === "arm64";
    const possible = Object.hasOwn(ofKubelet, key) ? ofKubelet[key] : undefined;
    if (possible !== undefined) return possible.includes(value);
    if (key === gpuPresent) return value === "true";
    if (Object.hasOwn(recipe.nodeLabels, key)) return recipe.nodeLabels[key] === value;
    if (key === controlPlaneRole) return spec.role === "controlplane" && value === "";
    // Users set role labels by hand, and a selector for a forgotten label is a common mistake. So the stack must list
    // them.
    return setByOthers.test(key) && !key.startsWith("node-role.kubernetes.io/");
  });

/** Resource that a workload requests. */
export const resourceOf = (request: GpuRequest, { spec, plan }: CheckContext): string =>
  workloadResource(spec.sharing, request.migProfile, plan.kubernetes.resourceName);

/**
 * Greatest number of a resource, such as `nvidia.com/gpu`, that a machine may offer; infinite if only the least number
 * is known.
 */
export const offers = (
  { recipe: { allocatable, atLeast = [] } }: CheckedMachine,
  resource: string,
): number => (atLeast.includes(resource) ? Infinity : (allocatable[resource] ?? 0));

/**
 * Cards of a machine that may satisfy a claim, according to the tables. For a card that exists with several sizes of
 * memory, the greatest size counts, and a warning says so. A card also counts if its memory or architecture is unknown.
 * The function ignores product names and CEL expressions.
 */
export function claimable(
  { uses }: CheckedMachine,
  { claim: { memory, architecture } = {} }: GpuRequest,
): CardUse[] {
  const requestedMiB = memory === undefined ? 0 : (quantityValue(memory) ?? 0) / 1024 ** 2;
  return uses.filter(
    ({ card }) =>
      ((card && memoryBounds(card)?.greatest) ?? Infinity) >= requestedMiB &&
      (architecture === undefined || card === undefined || card.architecture === architecture),
  );
}

/** Number of a machine's cards that a request may claim. */
export const mayClaim = (machine: CheckedMachine, request: GpuRequest): number =>
  claimable(machine, request).reduce((sum, { count }) => sum + count, 0);

/**
 * GPU machines whose nodes may get a request's pod: their labels match its selector, and they offer its resource or the
 * cards that it claims.
 */
export function machinesFor(request: GpuRequest, context: CheckContext): CheckedMachine[] {
  const resource = resourceOf(request, context);
  return context.gpuMachines.filter(
    (machine) =>
      mayMatch(machine, request.nodeSelector ?? {}) &&
      offers(machine, resource) > 0 &&
      mayClaim(machine, request) > 0,
  );
}
