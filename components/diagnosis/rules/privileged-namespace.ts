import { matching } from "../evidence";
import type { Rule } from "./rule";

/** Pods that are not created write no markers, label no node and fail no container. */
export const privilegedNamespace: Rule = {
  fix: "privilegedNamespace",
  sign: (seen, { namespace }) => matching(seen, /violates PodSecurity/, namespace),
  causes: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
};
