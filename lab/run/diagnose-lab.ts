import * as fs from "node:fs";
import { diagnose, type Difference, differences, fixes } from "../../components/diagnosis";
import { checkCluster, type Finding, planCluster } from "../../components/recipe";
import { askFactory } from "../../components/lookups/release-facts";
import { observe } from "../../cli/doctor/examine";
import type { Lab } from "../cluster/lab";
import type { Say } from "../phases";
import type { FailureReport } from "./report";

/**
 * Lab seconds within which a rebooting machine answers again. A machine in a boot loop also answers part of the time.
 */
const rebootSeconds = 300;

/** Seconds that the calls of a further inspection may take. */
const realPartsSeconds = 10;

interface LabDiagnosis {
  deviations: Difference[];
  failures: FailureReport[];
  /** Whether the failures name a cause. Otherwise they are the engine's messages. */
  explained: boolean;
}

/**
 * Finds out what is wrong with the lab's cluster: the findings of the checks, or else those of the doctor about the
 * cluster. If no known cause explains a failure, the engine's own messages are reported.
 *
 * @param diagnostics messages of the engine.
 * @param failed whether the update failed; then something is wrong even if nothing differs from the plan.
 */
export async function diagnoseLab(
  lab: Lab,
  diagnostics: readonly string[],
  failed: boolean,
  say: Say,
): Promise<LabDiagnosis> {
  const refusals = refusalsOf(checkCluster({ ...lab.spec, ...(await askFactory(lab.spec)) }));
  if (refusals.length > 0) return { deviations: [], failures: refusals, explained: true };
  const addresses = Object.entries(lab.spec.machines).map(([name, { address }]) => [name, address]);
  const talosconfig = lab.session.dir("talosconfig");
  const patience = (rebootSeconds / lab.options.timeScale + realPartsSeconds) * 1000;
  const machines = { talosctl: lab.tools.talosctl, talosconfig, secrets: [], patience };
  const { observations, unseen } = await observe(
    // An update that fails early leaves no talosconfig; then only Kubernetes is read.
    { kubeconfig: lab.kubernetes.kubeconfig, ...(fs.existsSync(talosconfig) ? { machines } : {}) },
    Object.fromEntries(addresses) as Record<string, string>,
  );
  const plan = planCluster(lab.spec);
  const deviations = differences(observations, plan);
  const diagnoses = diagnose(observations, plan);
  for (const line of unseen) say(line);
  for (const { fix, evidence } of diagnoses) for (const line of evidence) say(`${fix}: ${line}`);
  const failures = diagnoses.map(({ evidence: _, ...failure }) => failure);
  if (diagnoses.length > 0 || (deviations.length === 0 && !failed))
    return { deviations, failures, explained: true };
  return { deviations, failures: [unknownFailure(diagnostics)], explained: false };
}

/** The failure of an update without a known cause: the engine's own messages. */
export function unknownFailure(diagnostics: readonly string[]): FailureReport {
  const errors = [...new Set(diagnostics.filter((line) => line.startsWith("error")))];
  return {
    fix: "unknown",
    symptom: errors.join("\n") || "the cluster is not as planned, though the update succeeded",
    cause: "the diagnosis knows no cause",
    remedy: "examine the cluster: npm run lab -- --keep",
  };
}

/** Findings of the checks, each as a failure with its fix: a refused stack never reached the cluster. */
export const refusalsOf = (findings: readonly Finding[]): FailureReport[] =>
  findings.map(({ check, field, problem, why, remedy }) => ({
    fix: fixes.find((fix) => fix.check === check)?.id ?? "unknown",
    symptom: `${field}: ${problem}`,
    cause: why,
    remedy,
  }));
