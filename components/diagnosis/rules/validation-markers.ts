import type { Observations, ObservedPod } from "../observations";
import type { Rule } from "./rule";
import type { System } from "./system";

/** The operator's pods wait for marker files that nobody writes. */
export const validationMarkers: Rule = { fix: "validationMarkers", sign: waitsForMarkers, causes: [] };

/** Init containers of the operator's pods that wait for marker files. */
const waiters = ["toolkit-validation", "driver-validation", "wait-for-driver-ready"];

function waitsForMarkers(seen: Observations, { namespace, mode, era }: System): string[] {
  if (mode !== "operator" || era !== "legacy") return [];
  return markerKeeper(seen) ? [] : waitingPods(seen, namespace);
}

/** Whether a DaemonSet keeps the marker files on every node that it wants. */
export function markerKeeper(seen: Observations): boolean {
  const keeper = (seen.daemonSets ?? []).find(({ name }) => name.includes("validation-markers"));
  return keeper !== undefined && keeper.desired > 0 && keeper.ready === keeper.desired;
}

/** The operator's pods that wait for marker files, one line each. */
export function waitingPods(seen: Observations, namespace: string | undefined): string[] {
  return (seen.pods ?? [])
    .filter((pod) => pod.namespace === namespace && pod.phase === "Pending")
    .flatMap((pod) => {
      const waiter = waitingContainer(pod);
      return waiter === undefined ? [] : [`Pod/${pod.name}: Init, ${waiter} does not end`];
    });
}

function waitingContainer(pod: ObservedPod): string | undefined {
  return pod.initContainers?.find((container) => waiters.includes(container.name) && container.state !== "terminated")
    ?.name;
}
