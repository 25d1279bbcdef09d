import type { CheckContext, CheckedMachine } from "./check";
import type { GpuRequest } from "../stack/workloads";
import { isOfArm64, memoryBounds } from "../facts/card";
import type { CardUse } from "../facts/machine-facts";
import { workloadResource } from "../facts/sharing";
import { quantityValue } from "../rules/quantity";
import { gpuPresent } from "../machine/machine-recipe";
import { controlPlaneRole } from "../machine/taints";

/** Labels that Kubernetes, Talos, Node Feature Discovery and NVIDIA set themselves. */
const setByOthers =
  /^((.*\.)?kubernetes\.io|(.*\.)?k8s\.io|(.*\.)?nvidia\.com|extensions\.talos\.dev|feature\.node\.kubernetes\.io)\//;

/** Labels that the kubelet sets on a Talos machine: Talos is Linux, of two architectures. */
export const ofKubelet: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/os": ["linux"],
  "kubernetes.io/arch": ["amd64", "arm64"],
  "beta.kubernetes.io/os": ["linux"],
  "beta.kubernetes.io/arch": ["amd64", "arm64"],
};

/** Whether a machine's node may have all labels of a selector. Of labels that others set, who knows. */
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
    // The role labels are set by hand: an old, forgotten one is the classic.
    return setByOthers.test(key) && !key.startsWith("node-role.kubernetes.io/");
  });

/** Resource that a request is for. */
export const resourceOf = (request: GpuRequest, { spec, plan }: CheckContext): string =>
  workloadResource(spec.sharing, request.migProfile, plan.kubernetes.resourceName);

/** Most units of a resource that a machine may offer; without a limit where only the least is known. */
export const offers = (
  { recipe: { allocatable, atLeast = [] } }: CheckedMachine,
  resource: string,
): number => (atLeast.includes(resource) ? Infinity : (allocatable[resource] ?? 0));

/**
 * Cards of a machine that may be what a request claims: by what the tables know of them. A card that exists with
 * several sizes of memory may have the greatest; a note asks which it is. Of a product's name and of CEL, who knows.
 */
export function claimable(
  { uses }: CheckedMachine,
  { claim: { memory, architecture } = {} }: GpuRequest,
): CardUse[] {
  const wanted = memory === undefined ? 0 : (quantityValue(memory) ?? 0) / 1024 ** 2;
  return uses.filter(
    ({ card }) =>
      ((card && memoryBounds(card)?.greatest) ?? Infinity) >= wanted &&
      (architecture === undefined || card === undefined || card.architecture === architecture),
  );
}

/** How many of its cards a request may claim. */
export const mayClaim = (machine: CheckedMachine, request: GpuRequest): number =>
  claimable(machine, request).reduce((sum, { count }) => sum + count, 0);

/**
 * GPU machines that a request may be placed on: those that its selector fits and that offer its resource, of cards
 * that it claims.
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
