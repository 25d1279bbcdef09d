import * as fs from "node:fs";
import { inTime } from "../clients/clock";
import { MANAGER } from "../clients/kubernetes/manager";
import { type ClusterObjects, openCluster } from "../kubernetes/guard/live";
import { isMapping } from "../recipe/mapping";
import type { AskedStack } from "./release-facts";

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

/**
 * A stack's `devicePlugin` with what its cluster says of the RuntimeClass `nvidia`: one of somebody else's that has the right handler
 * is taken as it is (`makeRuntimeClass: false`). Asks only where the stack would make one. Never fails: without an answer the stack
 * makes its own, which a later step refuses where there is one.
 */
export async function withClassThere(
  { devicePlugin, bootstrap, kubeconfig }: AskedStack,
  open?: Open,
  environment?: NodeJS.ProcessEnv,
): Promise<Pick<AskedStack, "devicePlugin">> {
  if (!isMapping(devicePlugin) || devicePlugin["makeRuntimeClass"] !== undefined || bootstrap === true) return {};
  const key = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", name: "nvidia" };
  const found = await askCluster(kubeconfig, (objects) => objects.read(key), open, environment);
  if (found?.object === undefined || found.owner !== undefined || found.object.handler !== "nvidia") return {};
  const { ownerReferences = [], managedFields = [] } = found.object.metadata ?? {};
  // The operator's goes with the operator. One that Pulumi made may be of a release of this package that set no mark.
  const others = managedFields.every(({ manager = "" }) => manager !== MANAGER && !manager.startsWith("pulumi"));
  return ownerReferences.length === 0 && others ? { devicePlugin: { ...devicePlugin, makeRuntimeClass: false } } : {};
}
