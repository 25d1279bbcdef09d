import * as pulumi from "@pulumi/pulumi";
import { inTime } from "../clients/clock";
import { kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";
import type { ClusterObjects } from "../kubernetes/guard/live";
import { openCluster } from "../kubernetes/guard/open";

/** Function that makes a client for the cluster of a kubeconfig. */
export type Open = (kubeconfig: string) => Pick<ClusterObjects, "read">;

/**
 * Milliseconds to wait for the cluster. The time is short, because a preview of a stack whose cluster is down must not
 * wait long.
 */
const PATIENCE = 5_000;

/**
 * Asks the cluster of a stack's kubeconfig a question. If the stack has no kubeconfig, it asks the cluster of
 * KUBECONFIG. If the Pulumi program that calls this function also creates the cluster, the kubeconfig is unknown in a
 * preview, and the function asks no cluster. Never fails: undefined without a kubeconfig, or without an answer in time.
 *
 * @param kubeconfig text, or an Output or a promise of a text; `null` from programs in other languages means none.
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

/**
 * Reason why the cluster of a stack's kubeconfig does not answer; undefined if the cluster answers, or if no kubeconfig
 * is known.
 */
export async function reasonForNoAnswer(
  kubeconfig: unknown,
  open: (kubeconfig: string) => Pick<ClusterObjects, "ownerOf"> = openCluster,
  environment: NodeJS.ProcessEnv = process.env,
  patience = PATIENCE,
): Promise<string | undefined> {
  try {
    // Every cluster has this namespace. A refusal to show it is an answer as well.
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

/** @throws Error if there is no answer in time, or if the answer is an error. */
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

/**
 * Value of an input. Undefined for an Output that a preview does not know: Pulumi would never call the function in its
 * `apply`.
 */
async function valueOf(input: unknown): Promise<unknown> {
  const output = pulumi.output(input as pulumi.Input<string>);
  const { isKnown } = output as unknown as { isKnown: Promise<boolean> };
  return (await isKnown) ? new Promise((resolve) => void output.apply(resolve)) : undefined;
}

/** Content of the files that KUBECONFIG names; empty if KUBECONFIG names none. */
function kubeconfigOf(environment: NodeJS.ProcessEnv): string {
  const files = environment["KUBECONFIG"] ?? "";
  return files === "" ? "" : kubeconfigOfVariable(files);
}
