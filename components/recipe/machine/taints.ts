import type { MachineSpec } from "../spec/index";
import type { NodeTaint, PodToleration } from "../types";

/** Taint effects of Kubernetes. */
export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Taints of a machine. Entries that are not `value:Effect` or `:Effect` are left out, and a check reports them. */
export const taintsOf = (spec: MachineSpec): NodeTaint[] =>
  Object.entries(spec.taints ?? {})
    .map(([key, text]) => parseTaint(key, text))
    .filter((taint) => taint !== undefined);

/** Reads `value:Effect` or `:Effect`; undefined for anything else. */
export function parseTaint(key: string, text: string): NodeTaint | undefined {
  const separator = text.lastIndexOf(":");
  const value = text.slice(0, Math.max(separator, 0));
  const effect = text.slice(separator + 1);
  if (separator < 0 || !taintEffects.includes(effect)) return undefined;
  return { key, ...(value === "" ? {} : { value }), effect };
}

/**
 * A taint of Talos' configuration in the notation of a stack, `value:Effect` or `:Effect`. Talos reads a text without a
 * colon as the effect (talos v1.12.6, controllers/k8s/node_taint_spec.go).
 */
export const taintText = (text: string): string => (text.includes(":") ? text : `:${text}`);

/** Whether a toleration allows a pod on a node with a taint. */
export function tolerates(toleration: Partial<PodToleration>, taint: NodeTaint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  const exists = toleration.operator === "Exists";
  if (!toleration.key) return exists;
  return (
    toleration.key === taint.key && (exists || (toleration.value ?? "") === (taint.value ?? ""))
  );
}

/**
 * Toleration of NVIDIA's taint. The stack's list replaces a chart's whole list, so the stack's list must contain this
 * toleration too.
 */
const nvidiaToleration: PodToleration = {
  key: "nvidia.com/gpu",
  operator: "Exists",
  effect: "NoSchedule",
};

/** Key of the label and of the taint of control planes (talos v1.13.0, controllers/k8s/node_label_spec.go). */
export const controlPlaneRole = "node-role.kubernetes.io/control-plane";

/** Taint of control planes. */
export const controlPlaneTaint: NodeTaint = { key: controlPlaneRole, effect: "NoSchedule" };

/** The toleration of exactly one taint. */
export const tolerationOf = (taint: NodeTaint): PodToleration =>
  taint.value === undefined
    ? { key: taint.key, operator: "Exists", effect: taint.effect }
    : { key: taint.key, operator: "Equal", value: taint.value, effect: taint.effect };

/** Tolerations that all pods on the GPU machines need: for NVIDIA's taint and for the machines' taints. */
export function tolerationsFor(taints: NodeTaint[]): PodToleration[] {
  // All of these tolerations have a key, so a taint is only compared with the tolerations of the same key.
  const byKey = new Map([[nvidiaToleration.key, [nvidiaToleration]]]);
  for (const taint of taints) {
    const tolerationsOfKey = byKey.get(taint.key) ?? [];
    if (!tolerationsOfKey.some((toleration) => tolerates(toleration, taint)))
      byKey.set(taint.key, [...tolerationsOfKey, tolerationOf(taint)]);
  }
  return [...byKey.values()].flat();
}

const controlPlane = tolerationOf(controlPlaneTaint);

/**
 * Adds the toleration for control planes to a list that lacks it. Charts have this toleration for pods that may run on
 * any machine, and a list in the values replaces the chart's list.
 */
export const withControlPlane = (tolerations: PodToleration[]): PodToleration[] =>
  tolerations.some((toleration) => toleration.key === controlPlane.key)
    ? tolerations
    : [controlPlane, ...tolerations];

/** Reads a taint that `describeTaint` wrote. For any other text, the field `effect` of the result is empty. */
export function readTaint(text: string): NodeTaint {
  const [, key = text, value, effect = ""] = /^([^=:]+)(?:=([^:]*))?:(.*)$/.exec(text) ?? [];
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

/** A taint in kubectl's notation: `key=value:Effect`, or `key:Effect` without a value. */
export const describeTaint = ({ key, value, effect }: NodeTaint): string =>
  `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`;
