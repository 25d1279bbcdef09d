import type { Observations } from "../observations";
import { type Evidence, matching } from "../evidence";
import type { Rule } from "./rule";
import type { System } from "./system";

/** Pods are refused as their RuntimeClass is not there. */
export const runtimeClass: Rule = { fix: "runtimeClass", sign: runtimeClassMissing, causes: ["validationMarkers"] };

function runtimeClassMissing(seen: Observations, system: System): Evidence[] {
  const { name, owner } = system.runtimeClass;
  if (owner !== "component" || seen.runtimeClasses?.some((known) => known.name === name)) return [];
  const refused = matching(seen, new RegExp(`runtimeclass\\S* "?${name}"? not found`, "i"));
  // That it is not there says nothing by itself: the stack may not have come that far.
  return refused.length === 0 || seen.runtimeClasses === undefined
    ? refused
    : [...refused, `there is no RuntimeClass ${name}`];
}
