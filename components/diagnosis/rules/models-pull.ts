import { matching } from "../evidence";
import type { Rule } from "./rule";

/**
 * The message of the kubelet's event FailedPostStartHook; it comes with the runtime's own words. These words alone, `init 250
 * result=11` in a log, say nothing: five reports call them harmless (siderolabs/extensions#940).
 */
export const modelsPull: Rule = {
  fix: "modelsPull",
  sign: (seen) => matching(seen, /(PostStartHookError|lifecycle hook).*(nvidia|init 250)/is),
  causes: [],
};
