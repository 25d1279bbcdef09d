import { checkCluster } from "./checks/check-cluster";
import { isWithin } from "./machine/apart";
import { planBasis } from "./plan";
import { readSpec } from "./stack/parse";
import { findingsOfPools } from "./stack/pools";
import type { Finding, Plan } from "./types";

/** A stack that was read, planned and checked, each once. */
export interface Judged {
  /** Everything that is wrong with it, shape and meaning together. */
  findings: Finding[];
  /** What it would do. Undefined where its shape is wrong; where only its meaning is wrong, the plan is there. */
  plan?: Plan;
}

/**
 * Reads a stack, plans it and checks it. Where the shape is wrong, the checks look at the rest, and say nothing about fields
 * that hang on what could not be read. What is wrong with machines of a pool names the pool. Never throws.
 */
export function judge(raw: unknown): Judged {
  const { spec, findings: ofShape, pruned, poolOf } = readSpec(raw);
  if (spec === undefined) return { findings: ofShape };
  const basis = planBasis(spec);
  const related = (field: string): boolean => pruned.some((path) => isWithin(field, path) || isWithin(path, field));
  const ofMeaning = checkCluster(spec, basis).filter(({ field }) => !related(field));
  const findings = [...ofShape, ...findingsOfPools(ofMeaning, poolOf)];
  return ofShape.length > 0 ? { findings } : { findings, plan: basis.plan };
}

/** Everything that is wrong with a stack. */
export const findingsOf = (raw: unknown): Finding[] => judge(raw).findings;
