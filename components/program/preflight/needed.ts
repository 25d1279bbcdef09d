import type { Cluster } from "../cluster/cluster";
import type { Report } from "../progress";
import { defined } from "../../recipe/mapping";
import { answerOrReport } from "./or-report";
import type { PreflightTask } from "./task";

/**
 * Warns of namespaces and Secrets that the stack uses and that do not exist. This is no error: the user's program may
 * create them in the same update.
 */
export async function warnOfMissingObjects(
  { needs = [] }: Pick<PreflightTask, "needs">,
  cluster: Pick<Cluster, "exists">,
  report: Report,
): Promise<void> {
  const missingNamespaces = new Set<string>();
  for (const { field, kind, name, namespace } of needs) {
    if (namespace !== undefined && missingNamespaces.has(namespace)) continue;
    const title = `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
    const exists = await answerOrReport(
      true,
      cluster.exists({ kind, name, ...defined({ namespace }) }),
      report,
      (why) => `not known whether ${title} exists (${why})`,
    );
    if (exists) continue;
    if (kind === "Namespace") missingNamespaces.add(name);
    report(
      kind === "Namespace"
        ? `warning: ${field}: ${title} does not exist, and this stack does not create it; create it before the update comes to this field's objects, or the update fails there, after the machines' reboots`
        : `warning: ${field}: ${title} does not exist; create it before the update comes to this workload, or the workload's pod waits for the Secret (CreateContainerConfigError)`,
    );
  }
}
