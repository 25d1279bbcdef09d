import * as pulumi from "@pulumi/pulumi";
import { inTime } from "../clients/clock";
import { kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";
import type { ClusterObjects } from "../kubernetes/guard/live";
import { openCluster } from "../kubernetes/guard/open";

/** Objects of the cluster of a kubeconfig. */
export type Open = (kubeconfig: string) => Pick<ClusterObjects, "read">;

/** Milliseconds within which the cluster answers: every preview waits for it, also one without its cluster. */
const PATIENCE = 5_000;

/**
 * Asks the cluster of a stack's kubeconfig. Where the stack gives none, it asks the cluster that KUBECONFIG names, as all else does. A
 * kubeconfig that is given and not known in time, such as that of a cluster that the same program makes, leads to no other cluster.
 * Never fails: undefined where there is no kubeconfig, or no answer in time.
 *
 * @param kubeconfig text, or an Output or a promise of one; languages other than TypeScript say `null` for none.
 */
export async function askCluster<T>(
  kubeconfig: unknown,
  question: (objects: Pick<ClusterObjects, "read">) => Promise<T>,
  open: Open = openCluster,
  environment: NodeJS.ProcessEnv = process.env,
  patience = PATIENCE,
): Promise<T | undefined> {
  const ask = async (): Promise<T | undefined> => {
    const isGiven = kubeconfig !== undefined && kubeconfig !== null;
    const text = isGiven ? await valueOf(kubeconfig) : kubeconfigOf(environment);
    return typeof text === "string" && text !== "" ? question(open(text)) : undefined;
  };
  try {
    return await inTime(ask(), patience, () => new Error("no answer in time"));
  } catch {
    return undefined;
  }
}

/** Never resolves for an Output that is unknown: Pulumi does not call `apply` for one at preview. */
const valueOf = (input: unknown): Promise<unknown> =>
  new Promise((resolve) => void pulumi.output(input as pulumi.Input<string>).apply((value) => resolve(value)));

/** Content of the files that KUBECONFIG names; empty where it names none. */
function kubeconfigOf(environment: NodeJS.ProcessEnv): string {
  const files = environment["KUBECONFIG"] ?? "";
  return files === "" ? "" : kubeconfigOfVariable(files);
}
