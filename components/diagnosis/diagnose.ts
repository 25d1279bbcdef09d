import type { Plan } from "../recipe/types";
import { type Evidence, followsFrom, lineOf, matching } from "./evidence";
import { type Cause, type CauseId, causeIds, causes, type Fix, fixes, type FixId } from "./known";
import type { Observations } from "./observations";
import { systemOf } from "./system";

/** Failure of a running system, with cause and remedy. */
export interface Diagnosis extends Pick<Cause, "symptom" | "cause" | "remedy"> {
  /** Name of the fix that prevents the failure, or name of the cause if no fix prevents it. */
  fix: FixId | CauseId;
  /** Observations that show the failure, one line each. */
  evidence: string[];
}

/**
 * Finds the known failures that the observations show, without failures that are only consequences of another one.
 * Pure; empty if there are none.
 *
 * @param plan Plan of the stack; without a plan, `systemOf` derives the system from the observations.
 */
export function diagnose(observations: Observations, plan?: Plan): Diagnosis[] {
  const system = systemOf(observations, plan);
  const missingFixes = fixes
    .map((fix) => ({ fix, evidence: fix.sign(observations, system) }))
    .filter(({ evidence }) => evidence.length > 0);
  const evidenceOf = (select: (fix: Fix) => boolean): Evidence[] =>
    missingFixes.filter(({ fix }) => select(fix)).flatMap(({ evidence }) => evidence);
  const evidenceUnderneath = evidenceOf(({ isUnderneath }) => isUnderneath === true);
  const otherDiagnoses = causeIds.map((fix): Diagnosis => {
    const { symptom, cause, remedy, texts, signs } = causes[fix];
    const evidence = independentEvidence(evidenceUnderneath, [
      ...(signs?.(observations) ?? []),
      ...matching(observations, texts),
    ]);
    return { fix, symptom, cause, remedy, evidence };
  });
  const fixDiagnoses = missingFixes.map(({ fix, evidence }): Diagnosis => {
    const reasons = evidenceOf((otherFix) => hides(otherFix, fix));
    const { id, symptom, cause } = fix;
    return {
      fix: id,
      symptom,
      cause,
      remedy: remedyOf(fix, plan),
      evidence: independentEvidence(reasons, evidence),
    };
  });
  return [...fixDiagnoses, ...otherDiagnoses].filter(({ evidence }) => evidence.length > 0);
}

/** Lines of evidence that cannot follow from any of the reasons (`followsFrom`); at most five. */
function independentEvidence(
  reasons: readonly Evidence[],
  evidence: readonly Evidence[],
): string[] {
  const independent = evidence.filter((item) => !followsFrom(item, reasons));
  return independent.map(lineOf).slice(0, 5);
}

/** Whether the first fix, if it is missing, causes the signs of the second one too. */
const hides = ({ id, hides: hidden = [] }: Fix, fix: Fix): boolean =>
  hidden === "all" ? id !== fix.id : hidden.includes(fix.id);

/**
 * Fixes that the GPU provider's Helm release contains, in its values or its objects. The owner of an external release
 * must make these fixes.
 */
const ofRelease = new Set<FixId>([
  "privilegedNamespace",
  "runtimeClass",
  "deviceListStrategy",
  "migManager",
  "operatorToolkit",
  "toolkitFolder",
]);

/**
 * Remedy for a missing fix. The plan of a stack has every fix that the stack needs. So a user or a tool undid
 * the fix, or it did not take effect.
 */
function remedyOf(fix: Fix, plan: Plan | undefined): string {
  if (plan === undefined) return `make sure that ${fix.does}`;
  if (plan.kubernetes.external && ofRelease.has(fix.id))
    return `this stack does not install the GPU provider: ${plan.kubernetes.by ?? "the tool that installs it"} must make sure that ${fix.does}`;
  return (
    fix.inForce ??
    `normally the stack makes sure that ${fix.does}, but the running system differs: check whether someone undid the fix by hand, and run \`pulumi up --refresh\``
  );
}
