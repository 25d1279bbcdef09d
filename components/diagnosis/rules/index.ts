import type { FixId } from "../fix-ids";
import { type CauseId, causes, evidenceOf } from "../causes/index";
import { fixes, type Fix } from "../fixes/index";
import type { Observations } from "../observations";
import type { Plan } from "../../recipe/types";
import { type Evidence, followsFrom, lineOf } from "../evidence";
import { kubernetesRules } from "./kubernetes";
import { machineRules } from "./machine";
import type { Rule } from "./rule";
import { systemOf } from "./system";
import { workloadRules } from "./workloads";

/** What is wrong with a running system, and what to do. */
export interface Diagnosis {
  /** Fix that prevents it, or the name of a cause that none does. */
  fix: FixId | CauseId;
  symptom: string;
  cause: string;
  remedy: string;
  /** What was seen that says so, one line each. */
  evidence: string[];
}

/** One per fix, from the machine up. */
const rules: Record<FixId, Rule> = { ...machineRules, ...kubernetesRules, ...workloadRules };

/**
 * Names what is wrong with a system: the causes, not what follows from them. Pure; empty when nothing known explains it.
 *
 * @param plan Plan of the stack; without it the system is read off what was seen.
 */
export function diagnose(seen: Observations, plan?: Plan): Diagnosis[] {
  const system = systemOf(seen, plan);
  const found = (Object.entries(rules) as [FixId, Rule][])
    .map(([fix, { sign, causes: follow = [] }]) => ({ fix, follow, evidence: sign(seen, system) }))
    .filter((rule) => rule.evidence.length > 0);
  const reasonsOf = (fix: FixId): Evidence[] =>
    found.filter(({ follow }) => follow.includes(fix)).flatMap(({ evidence }) => evidence);
  const ofFixes = found.flatMap(({ fix: id, evidence }) => {
    const own = notFrom(reasonsOf(id), evidence);
    const fix = fixes.find((candidate) => candidate.id === id);
    if (!fix || own.length === 0) return [];
    const { symptom, cause } = fix;
    return [{ fix: id, symptom, cause, remedy: remedyOf(fix, plan), evidence: own }];
  });
  const below = found.filter(({ fix }) => underneath.includes(fix)).flatMap(({ evidence }) => evidence);
  return [...ofFixes, ...ofOthers(seen, below)];
}

/** What was seen beside what follows from something else, as lines: the first five. */
function notFrom(reasons: readonly Evidence[], evidence: readonly Evidence[]): string[] {
  return evidence
    .filter((one) => !followsFrom(one, reasons))
    .map(lineOf)
    .slice(0, 5);
}

/** Fixes without which a machine has no driver or no runtime: whatever its pods then say follows from that. */
const underneath: FixId[] = ["perMachinePatch", "schematic", "kernelModules", "driverBranches"];

/** Known causes that no fix prevents, beside what follows from a machine without a driver. */
function ofOthers(seen: Observations, below: readonly Evidence[]): Diagnosis[] {
  return evidenceOf(seen).flatMap(([id, evidence]) => {
    const own = notFrom(below, evidence);
    const { symptom, cause, remedy } = causes[id];
    return own.length === 0 ? [] : [{ fix: id, symptom, cause, remedy, evidence: own }];
  });
}

/** A stack has every fix that it needs: where its lack is seen, somebody undid it, or it did not take effect. */
function remedyOf(fix: Fix, plan: Plan | undefined): string {
  if (plan === undefined) return `see to it that ${fix.does}`;
  return (
    fix.inForce ??
    `the stack has this fix, but it is not in effect: check whether somebody removed it, and run \`pulumi up --refresh\``
  );
}
