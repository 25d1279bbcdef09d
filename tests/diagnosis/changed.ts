import type { Observations } from "../../components/diagnosis";
import { planOf } from "../support/plans";
import { asPlanned } from "./as-planned";

/** Plan of a stack with the device plugin and eight cards. */
export const plan = planOf("rtx3090");
/** Namespace of what exposes its GPUs. */
export const namespace = plan.kubernetes.release.namespace;
/** Its machine. */
export const machine = plan.machines[0]!.name;
/** Its DaemonSet. */
export const plugin = "nvidia-device-plugin";

/** What was seen, after somebody has changed it. */
export function changed(change: (seen: Required<Observations>) => void): Observations {
  const seen = asPlanned(plan) as Required<Observations>;
  change(seen);
  return seen;
}
