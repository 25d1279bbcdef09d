import type { FixId } from "../fix-ids";
import { type CauseId, causes, evidenceOf } from "../causes/index";
import { fixes, type Fix } from "../fixes/index";
import type { Observations } from "../observations";
import type { Plan } from "../../recipe/types";
import { bpfJitHarden } from "./bpf-jit-harden";
import { cudaImage } from "./cuda-image";
import { deviceListStrategy } from "./device-list-strategy";
import { driverBranches } from "./driver-branches";
import { gpuPresentLabel } from "./gpu-present-label";
import { kernelModules } from "./kernel-modules";
import { migManager } from "./mig-manager";
import { modelsPull } from "./models-pull";
import { nodeSelector } from "./node-selector";
import { operatorValidatorLabel } from "./operator-validator-label";
import { perMachinePatch } from "./per-machine-patch";
import { privilegedNamespace } from "./privileged-namespace";
import type { Rule } from "./rule";
import { runtimeClass } from "./runtime-class";
import { schematic } from "./schematic";
import { systemOf } from "./system";
import { taintThroughApi, tolerations } from "./taints";
import { validationMarkers } from "./validation-markers";

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

/** One per fix, from the machine up; each in a file of its own. */
const rules: Record<FixId, Rule> = {
  perMachinePatch,
  schematic,
  kernelModules,
  driverBranches,
  privilegedNamespace,
  runtimeClass,
  nodeSelector,
  gpuPresentLabel,
  bpfJitHarden,
  deviceListStrategy,
  tolerations,
  taintThroughApi,
  validationMarkers,
  operatorValidatorLabel,
  migManager,
  cudaImage,
  modelsPull,
};

/**
 * Names what is wrong with a system: the causes, not what follows from them. Pure; empty when nothing known explains it.
 *
 * @param plan Plan of the stack; without it the system is read off what was seen.
 */
export function diagnose(seen: Observations, plan?: Plan): Diagnosis[] {
  const system = systemOf(seen, plan);
  const found = Object.values(rules)
    .map((rule) => ({ ...rule, evidence: rule.sign(seen, system) }))
    .filter((rule) => rule.evidence.length > 0);
  const consequences = new Set(found.flatMap((rule) => rule.causes));
  const ofFixes = found
    .filter((rule) => !consequences.has(rule.fix))
    .flatMap(({ fix: id, evidence }) => {
      const fix = fixes.find((candidate) => candidate.id === id);
      if (!fix) return [];
      const { symptom, cause } = fix;
      return [{ fix: id, symptom, cause, remedy: remedyOf(fix, plan), evidence: evidence.slice(0, 5) }];
    });
  return [...ofFixes, ...(ofFixes.some(({ fix }) => underneath.includes(fix)) ? [] : ofOthers(seen))];
}

/** Fixes without which a machine has no driver or no runtime: whatever pods then say follows from that. */
const underneath: FixId[] = ["perMachinePatch", "schematic", "kernelModules", "driverBranches"];

/** Known causes that no fix prevents. */
function ofOthers(seen: Observations): Diagnosis[] {
  return evidenceOf(seen).map(([id, evidence]) => {
    const { symptom, cause, remedy } = causes[id];
    return { fix: id, symptom, cause, remedy, evidence: evidence.slice(0, 5) };
  });
}

/** A stack has every fix that it needs: where its lack is seen, somebody undid it, or it did not take effect. */
function remedyOf(fix: Fix, plan: Plan | undefined): string {
  if (plan === undefined) return `see to it that ${fix.does}`;
  return (
    fix.inForce ??
    `the stack has this fix, but it is not in effect: look whether somebody took it away since, and run \`pulumi up --refresh\``
  );
}
