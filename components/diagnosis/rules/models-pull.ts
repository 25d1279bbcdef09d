import { matching } from "./evidence";
import type { Rule } from "./rule";

/** The message of the kubelet's event FailedPostStartHook; it comes with the runtime's own words. */
export const modelsPull: Rule = {
  fix: "modelsPull",
  sign: (seen) => matching(seen, /PostStartHookError.*(nvidia|init 250)|init 250 result=11/s),
  causes: [],
};
