import { withControlPlane } from "../machine/taints";
import type { PodToleration } from "../types";
import type { ChartInput } from "./values";

/**
 * Node Feature Discovery on machines with taints. Its worker runs on each of them. Its master, which writes the labels and takes
 * them off when the release goes, and its collector run anywhere, and their charts tolerate a control plane's taint at most
 * (node-feature-discovery v0.15 to v0.19, deployment/helm, values.yaml): where each node has a taint they would stay pending, and
 * Helm would wait for the hook that takes the labels off.
 */
export function discoveryTolerations(machines: PodToleration[]): ChartInput {
  const tolerations = withControlPlane(machines);
  return { worker: { tolerations }, master: { tolerations }, gc: { tolerations } };
}
