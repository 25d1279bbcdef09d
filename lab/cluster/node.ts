import type * as k8s from "@kubernetes/client-node";
import { describeTaint } from "../../components/recipe/machine/taints";

/** Whether a node is ready: it says so, and the controller that answers with a taint has taken that away again, by which the scheduler goes. */
export function isReady(node: k8s.V1Node): boolean {
  const says = node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return says && !node.spec?.taints?.some(({ key }) => key === "node.kubernetes.io/not-ready");
}

/** Allocatable NVIDIA resources of a node, by name; none that are zero. */
export function gpusOf(node: k8s.V1Node | undefined): Record<string, string> {
  const entries = Object.entries(node?.status?.allocatable ?? {});
  return Object.fromEntries(entries.filter(([name, count]) => name.startsWith("nvidia.com/") && count !== "0"));
}

/** Taints of a node as the recipe writes them: `key=value:Effect`. */
export function taintsOfNode(node: k8s.V1Node | undefined): string[] {
  return (node?.spec?.taints ?? []).map(({ key, value, effect }) =>
    describeTaint({ key, effect, ...(value === undefined ? {} : { value }) }),
  );
}
