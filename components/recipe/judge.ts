import { foundIn, isRefusal } from "./checks/check-cluster";
import { isWithin } from "./machine/apart";
import { planBasis } from "./plan";
import { readSpec } from "./stack/parse";
import { toldOnce } from "./stack/pools";
import type { Finding, Plan } from "./types";

/** A stack that was read, planned and checked, each once. */
export interface Judged {
  /** Everything that refuses it, shape and meaning together. */
  findings: Finding[];
  /** Findings that do not refuse it: warnings and notes. */
  remarks: Finding[];
  /** Plan of the stack. Undefined if the stack's shape is wrong; a stack with other mistakes has a plan. */
  plan?: Plan;
}

/**
 * Reads a stack, plans it and checks it. Where the shape is wrong, the checks look at the rest, and say nothing about
 * fields that hang on what could not be read. A finding about machines of a pool names the pool. Never throws.
 *
 * @param looksAhead whether a note says what to change before Talos of the next era, for which everything is checked
 * once more.
 */
export function judge(raw: unknown, looksAhead = true): Judged {
  const { spec, findings: ofShape, pruned, poolOf, written } = readSpec(raw);
  if (spec === undefined || written === undefined) return { findings: ofShape, remarks: [] };
  const basis = planBasis(spec);
  const related = (field: string): boolean =>
    pruned.some((path) => isWithin(field, path) || isWithin(path, field));
  const all = foundIn(spec, basis, looksAhead).filter(({ field }) => !related(field));
  const findings = [...ofShape, ...toldOnce(all.filter(isRefusal), written, poolOf)];
  const remarks = toldOnce(
    all.filter((finding) => !isRefusal(finding)),
    written,
    poolOf,
  );
  return { findings, remarks, ...(ofShape.length > 0 ? {} : { plan: basis.plan }) };
}

/** Everything that refuses a stack. */
export const findingsOf = (raw: unknown): Finding[] => judge(raw).findings;
