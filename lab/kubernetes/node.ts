import type * as k8s from "@kubernetes/client-node";
import { offeredBy } from "../../components/clients/kubernetes/devices";
import { isGpu } from "../../components/diagnosis/differences/nodes";
import { describeTaint } from "../../components/recipe/machine/taints";

/**
 * Whether a node is ready: its condition is true, and the controller has removed the not-ready taint, which the
 * scheduler reads.
 */
export function isReady(node: k8s.V1Node): boolean {
  const hasReadyCondition =
    node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ??
    false;
  return (
    hasReadyCondition &&
    !node.spec?.taints?.some(({ key }) => key === "node.kubernetes.io/not-ready")
  );
}

/** NVIDIA's resources of a node, by name, without those of zero. */
export function gpusOf(
  node: k8s.V1Node | undefined,
  slices: readonly k8s.V1ResourceSlice[],
): Record<string, string> {
  const entries = Object.entries(node === undefined ? {} : offeredBy(node, slices));
  return Object.fromEntries(entries.filter(([name, count]) => isGpu(name) && count !== "0"));
}

/** Taints of a node as the recipe writes them: `key=value:Effect`. */
export const taintsOfNode = (node: k8s.V1Node | undefined): string[] =>
  (node?.spec?.taints ?? []).map(({ key, value, effect }) =>
    describeTaint({ key, effect, ...(value === undefined ? {} : { value }) }),
  );
