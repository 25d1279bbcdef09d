import { checkCluster, foundIn, isHarmless } from "./checks/check-cluster";
import { isWithin } from "./machine/apart";
import { nextEraAfter } from "./facts/talos-release";
import { planBasis } from "./plan";
import type { ClusterSpec } from "./spec/index";
import { renderFinding } from "./stack/findings";
import { readSpec } from "./stack/parse";
import { toldOnce } from "./stack/pools";
import type { Finding, Plan } from "./types";

/** A stack that was read, planned and checked, each once. */
export interface Judged {
  /** Everything that is wrong with it, shape and meaning together. */
  findings: Finding[];
  /** What only has no effect. The notes of the plan tell of it, too. */
  harmless: Finding[];
  /** What it would do. Undefined where its shape is wrong; where only its meaning is wrong, the plan is there. */
  plan?: Plan;
}

/**
 * Reads a stack, plans it and checks it. Where the shape is wrong, the checks look at the rest, and say nothing about fields
 * that hang on what could not be read. What is wrong with machines of a pool names the pool. Never throws.
 *
 * @param looksAhead whether the notes tell what to change before Talos of the next era, for which everything is checked once more.
 */
export function judge(raw: unknown, looksAhead = true): Judged {
  const { spec, findings: ofShape, pruned, poolOf, written } = readSpec(raw);
  if (spec === undefined || written === undefined) return { findings: ofShape, harmless: [] };
  const basis = planBasis(spec);
  const related = (field: string): boolean =>
    pruned.some((path) => isWithin(field, path) || isWithin(path, field));
  const all = foundIn(spec, basis).filter(({ field }) => !related(field));
  const harmless = toldOnce(all.filter(isHarmless), written, poolOf);
  const ofMeaning = all.filter((finding) => !isHarmless(finding));
  const findings = [...ofShape, ...toldOnce(ofMeaning, written, poolOf)];
  if (ofShape.length > 0) return { findings, harmless };
  const { plan } = basis;
  const ahead = looksAhead ? beforeNextEra(spec, ofMeaning) : [];
  const notes = [...plan.notes, ...harmless.map(renderFinding), ...ahead];
  return { findings, harmless, plan: { ...plan, notes } };
}

/** What to change in somebody else's release before Talos of the next era, of a stack that does not have it yet: one line. */
function beforeNextEra(spec: ClusterSpec, now: Finding[]): string[] {
  const next = nextEraAfter(spec.talosVersion);
  if (spec.external === undefined || next === undefined) return [];
  const { releaseFacts: _facts, otherReleaseFacts: _others, ...rest } = spec;
  const problems = new Set(now.map(({ field, problem }) => JSON.stringify([field, problem])));
  const then = checkCluster({ ...rest, talosVersion: `v1.${next}.0` })
    .filter(({ field }) => /^external\b/.test(field))
    .filter(({ field, problem }) => !problems.has(JSON.stringify([field, problem])))
    .map(({ field, remedy }) => `${field}: ${remedy}`);
  return then.length === 0
    ? []
    : [`right before an upgrade to Talos 1.${next}: ${then.join("; ")}`];
}

/** Everything that is wrong with a stack. */
export const findingsOf = (raw: unknown): Finding[] => judge(raw).findings;
