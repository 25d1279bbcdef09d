import { planCluster } from "../components/recipe";
import { diagnose } from "../components/recipe/diagnosis";
import type { Lab } from "./bring-up";
import { observe } from "./observe";
import type { Say } from "./phases";
import type { FailureReport } from "./report";

/** talosctl of the lab, see lab/tools/talosctl. */
const talosctlVersion = "1.13.0";

/**
 * What is wrong with the lab's cluster, found by looking at it as one would at a real one. When nothing known explains it,
 * the engine's own words are the failure.
 */
export async function diagnoseLab(lab: Lab, diagnostics: readonly string[], say: Say): Promise<FailureReport[]> {
  const seen = await observe(lab.kubernetes, lab.spec, {
    talosctl: lab.tools.talosctl,
    talosctlVersion,
    talosconfig: lab.session.dir("talosconfig"),
  });
  const found = diagnose(seen, planCluster(lab.spec));
  for (const { fix, evidence } of found) for (const line of evidence) say(`${fix}: ${line}`);
  if (found.length > 0) return found.map(({ evidence: _, ...failure }) => failure);
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
