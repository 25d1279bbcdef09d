import { fixSwitch } from "../fix-ids";
import type { ClusterSpec, ModelPull } from "../stack/spec/index";

/** How a stack's models are pulled: by jobs, unless it says otherwise or leaves the fix out. */
export function modelPullOf(spec: ClusterSpec): ModelPull {
  return spec.workloads?.ollama?.pullBy ?? (fixSwitch(spec.without)("modelsPull") ? "job" : "postStart");
}
