import { foundIn, foundWithFileTexts, isRefusal } from "./checks/check-cluster";
import { isWithin } from "./machine/apart";
import { planBasis } from "./plan";
import { readSpec } from "./stack/parse";
import { combineAlike } from "./stack/pools";
import type { Finding, Plan } from "./types";

/** A stack with its plan and its findings. */
export interface Judged {
  /** Findings that refuse the stack. */
  findings: Finding[];
  /** Findings that do not refuse the stack: warnings and notes. */
  remarks: Finding[];
  /**
   * Plan of the stack. Undefined if a field is unknown, missing or of a wrong type; a stack with other mistakes has a
   * plan.
   */
  plan?: Plan;
}

/**
 * Reads a stack, plans it and checks it. If some fields are unknown, missing or of a wrong type, the checks run on the
 * other fields. Findings that depend on the wrong fields are dropped. A finding about machines of a pool names the
 * pool. Never throws.
 *
 * @param looksAhead whether to check an external release also for the next Talos version that injects devices in
 * another way. A note then lists the values to change.
 */
export const judge = (raw: unknown, looksAhead = true): Judged =>
  judgeWith(raw, looksAhead, foundIn);

/**
 * Like `judge`, and each finding also has the texts that fit files without a stack (`ofFiles`), for the command
 * `check`.
 */
export const judgeWithFileTexts = (raw: unknown): Judged =>
  judgeWith(raw, false, foundWithFileTexts);

function judgeWith(raw: unknown, looksAhead: boolean, find: typeof foundIn): Judged {
  const { spec, findings: shapeFindings, pruned, poolOf, written } = readSpec(raw);
  if (spec === undefined || written === undefined) return { findings: shapeFindings, remarks: [] };
  const basis = planBasis(spec);
  const isPruned = (field: string): boolean =>
    pruned.some((path) => isWithin(field, path) || isWithin(path, field));
  const clusterFindings = find(spec, basis, looksAhead).filter(({ field }) => !isPruned(field));
  const findings = [
    ...shapeFindings,
    ...combineAlike(clusterFindings.filter(isRefusal), written, poolOf),
  ];
  const remarks = combineAlike(
    clusterFindings.filter((finding) => !isRefusal(finding)),
    written,
    poolOf,
  );
  return { findings, remarks, ...(shapeFindings.length > 0 ? {} : { plan: basis.plan }) };
}

/** All findings that refuse a stack. */
export const findingsOf = (raw: unknown): Finding[] => judge(raw).findings;
