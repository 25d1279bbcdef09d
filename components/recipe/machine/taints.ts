import type { MachineSpec } from "../spec/index";
import type { NodeTaint, PodToleration } from "../types";

/** Taint effects of Kubernetes. */
export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Taints of a machine; entries that are not `value:Effect` or `:Effect` are left out, for a check to name. */
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
 * A taint as a stack says it: to Talos, a value without a colon is the effect (talos v1.12.6,
 * controllers/k8s/node_taint_spec.go).
 */
export const taintText = (text: string): string => (text.includes(":") ? text : `:${text}`);

/** Whether a toleration lets a pod onto a node with the taint. */
export function tolerates(toleration: Partial<PodToleration>, taint: NodeTaint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  const exists = toleration.operator === "Exists";
  if (!toleration.key) return exists;
  return (
    toleration.key === taint.key && (exists || (toleration.value ?? "") === (taint.value ?? ""))
  );
}

/** NVIDIA's own toleration; a chart's list is replaced as a whole, so ours must bring it along. */
const nvidiaToleration: PodToleration = {
  key: "nvidia.com/gpu",
  operator: "Exists",
  effect: "NoSchedule",
};

/**
 * The role of a control plane's node: key of its label and of its taint (talos v1.13.0,
 * controllers/k8s/node_label_spec.go).
 */
export const controlPlaneRole = "node-role.kubernetes.io/control-plane";

/** Taint of control planes. */
export const controlPlaneTaint: NodeTaint = { key: controlPlaneRole, effect: "NoSchedule" };

/** The toleration of exactly one taint. */
export const tolerationOf = (taint: NodeTaint): PodToleration =>
  taint.value === undefined
    ? { key: taint.key, operator: "Exists", effect: taint.effect }
    : { key: taint.key, operator: "Equal", value: taint.value, effect: taint.effect };

/** Tolerations that all pods on the GPU machines need: for NVIDIA's taint and for those of the machines. */
export function tolerationsFor(taints: NodeTaint[]): PodToleration[] {
  // All of these tolerations have a key, so that a taint is compared with those of its own.
  const byKey = new Map([[nvidiaToleration.key, [nvidiaToleration]]]);
  for (const taint of taints) {
    const those = byKey.get(taint.key) ?? [];
    if (!those.some((toleration) => tolerates(toleration, taint)))
      byKey.set(taint.key, [...those, tolerationOf(taint)]);
  }
  return [...byKey.values()].flat();
}

const controlPlane = tolerationOf(controlPlaneTaint);

/**
 * Adds the toleration of control planes to a list, if the list lacks it. Charts give it to pods that belong to no
 * machine, and a list in the values replaces the chart's.
 */
export const withControlPlane = (tolerations: PodToleration[]): PodToleration[] =>
  tolerations.some((toleration) => toleration.key === controlPlane.key)
    ? tolerations
    : [controlPlane, ...tolerations];

/** Reads a taint that `describeTaint` wrote. From a text that is no taint it makes a taint without an effect. */
export function readTaint(text: string): NodeTaint {
  const [, key = text, value, effect = ""] = /^([^=:]+)(?:=([^:]*))?:(.*)$/.exec(text) ?? [];
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

/** A taint as kubectl writes it: `key=value:Effect`, or `key:Effect` without a value. */
export const describeTaint = ({ key, value, effect }: NodeTaint): string =>
  `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`;
