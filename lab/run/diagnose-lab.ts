import { checkCluster, diagnose, fixes, planCluster } from "../../components/recipe";
import { observe } from "../../cli/doctor/observe";
import type { Lab } from "../cluster/bring-up";
import type { Say } from "../phases";
import type { FailureReport } from "./report";

/** Lab seconds in which a machine that reboots answers again; a machine that loops is away for a part of its time. */
const rebootSeconds = 300;

/** Seconds that the calls of a second look may take. */
const realPartsSeconds = 10;

/**
 * What is wrong with the lab's cluster: what the checks refused, or else what is found by looking at the cluster as one
 * would at a real one. When nothing known explains it, the engine's own words are the failure.
 *
 * @param diagnostics What the engine said.
 * @param asPlanned Whether the update succeeded and the cluster offers what the plan says; then nothing known is nothing.
 */
export async function diagnoseLab(
  lab: Lab,
  diagnostics: readonly string[],
  asPlanned: boolean,
  say: Say,
): Promise<FailureReport[]> {
  const refused = refusals(lab);
  if (refused.length > 0) return refused;
  const addresses = Object.entries(lab.spec.machines).map(([name, { address }]) => [name, address]);
  const { observations, notes } = await observe(
    {
      kubeconfig: lab.kubernetes.config,
      machines: {
        talosctl: lab.tools.talosctl,
        talosconfig: lab.session.dir("talosconfig"),
        secrets: [],
        patience: (rebootSeconds / lab.options.timeScale + realPartsSeconds) * 1000,
      },
    },
    Object.fromEntries(addresses) as Record<string, string>,
  );
  const found = diagnose(observations, planCluster(lab.spec));
  for (const note of notes) say(note);
  for (const { fix, evidence } of found) for (const line of evidence) say(`${fix}: ${line}`);
  if (found.length > 0 || asPlanned) return found.map(({ evidence: _, ...failure }) => failure);
  const errors = [...new Set(diagnostics.filter((line) => line.startsWith("error")))];
  return [
    {
      fix: "unknown",
      symptom: errors.join("\n") || "the cluster is not as planned, though the update succeeded",
      cause: "nothing that the diagnosis knows",
      remedy: "look at the cluster: npm run lab -- --keep",
    },
  ];
}

/** What the checks say of the stack, each with the fix whose lack it is about: a refused stack never reached the cluster. */
function refusals({ spec }: Lab): FailureReport[] {
  if (spec.skipChecks) return [];
  return checkCluster(spec).map(({ check, field, problem, why, remedy }) => ({
    fix: fixes.find((fix) => fix.check === check && spec.without?.includes(fix.id))?.id ?? "unknown",
    symptom: `${field}: ${problem}`,
    cause: why,
    remedy,
  }));
}
