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
 * kubeconfig may be given but not known in time, such as that of a cluster that the same program makes. Then no other cluster is asked.
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
  try {
    return await questionCluster(kubeconfig, question, open, environment, patience);
  } catch {
    return undefined;
  }
}

/** Why the cluster of a stack's kubeconfig does not answer; undefined where it does, or where no kubeconfig is known. */
export async function whyUnseen(
  kubeconfig: unknown,
  open: (kubeconfig: string) => Pick<ClusterObjects, "ownerOf"> = openCluster,
  environment: NodeJS.ProcessEnv = process.env,
  patience = PATIENCE,
): Promise<string | undefined> {
  try {
    // Every cluster has it, and only an administrator needs to read it: a refusal is an answer, too.
    const key = { apiVersion: "v1", kind: "Namespace", name: "kube-system" };
    await questionCluster(
      kubeconfig,
      (objects) => objects.ownerOf(key),
      open,
      environment,
      patience,
    );
    return undefined;
  } catch (error) {
    const { message, code, words = message } = error as Error & { code?: unknown; words?: string };
    return code === 403 ? undefined : words;
  }
}

/** @throws Error where there is no answer in time, or the answer is an error. */
async function questionCluster<Objects, T>(
  kubeconfig: unknown,
  question: (objects: Objects) => Promise<T>,
  open: (kubeconfig: string) => Objects,
  environment: NodeJS.ProcessEnv,
  patience: number,
): Promise<T | undefined> {
  const isGiven = kubeconfig !== undefined && kubeconfig !== null;
  const ask = async (): Promise<T | undefined> => {
    const text = isGiven ? await valueOf(kubeconfig) : kubeconfigOf(environment);
    return typeof text === "string" && text !== "" ? question(open(text)) : undefined;
  };
  return inTime(
    ask(),
    patience,
    () => new Error(`the cluster does not answer within ${patience / 1_000} s`),
  );
}

/** An input's value; undefined of an Output that is not known yet: Pulumi does not call `apply` for one at preview. */
async function valueOf(input: unknown): Promise<unknown> {
  const output = pulumi.output(input as pulumi.Input<string>);
  const { isKnown } = output as unknown as { isKnown: Promise<boolean> };
  return (await isKnown) ? new Promise((resolve) => void output.apply(resolve)) : undefined;
}

/** Content of the files that KUBECONFIG names; empty where it names none. */
function kubeconfigOf(environment: NodeJS.ProcessEnv): string {
  const files = environment["KUBECONFIG"] ?? "";
  return files === "" ? "" : kubeconfigOfVariable(files);
}
