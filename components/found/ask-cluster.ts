import * as fs from "node:fs";
import { inTime } from "../clients/clock";
import type { ClusterObjects } from "../kubernetes/guard/live";
import { openCluster } from "../kubernetes/guard/open";

/** Objects of the cluster of a kubeconfig. */
export type Open = (kubeconfig: string) => Pick<ClusterObjects, "read">;

/** Milliseconds within which the cluster answers: every preview waits for it, also one without its cluster. */
const PATIENCE = 5_000;

/**
 * Asks the cluster of a stack's kubeconfig, or of the one that KUBECONFIG names. Never fails: undefined where there is none, or no answer
 * in time.
 */
export async function askCluster<T>(
  kubeconfig: unknown,
  question: (objects: Pick<ClusterObjects, "read">) => Promise<T>,
  open: Open = openCluster,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<T | undefined> {
  const file = environment["KUBECONFIG"] ?? "";
  try {
    const text = typeof kubeconfig === "string" ? kubeconfig : file === "" ? "" : fs.readFileSync(file, "utf8");
    return text === "" ? undefined : await inTime(question(open(text)), PATIENCE, () => new Error("no answer in time"));
  } catch {
    return undefined;
  }
}
