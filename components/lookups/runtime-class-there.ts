import { MANAGER } from "../clients/kubernetes/manager";
import { isMapping } from "../recipe/mapping";
import { askCluster, type Open } from "./ask-cluster";
import type { AskedStack } from "./release-facts";

/**
 * A stack's `devicePlugin` with what its cluster says of the RuntimeClass `nvidia`: an external one with the right handler is used as it
 * is (`makeRuntimeClass: false`). Asks only where the stack would make one. Never fails: without an answer the stack
 * makes its own, which a later step refuses where there is one.
 */
export async function withClassThere(
  { devicePlugin, bootstrap, kubeconfig }: AskedStack,
  open?: Open,
  environment?: NodeJS.ProcessEnv,
): Promise<Pick<AskedStack, "devicePlugin">> {
  if (
    !isMapping(devicePlugin) ||
    devicePlugin["makeRuntimeClass"] !== undefined ||
    bootstrap === true
  )
    return {};
  const key = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", name: "nvidia" };
  const found = await askCluster(kubeconfig, (objects) => objects.read(key), open, environment);
  if (found?.object === undefined || found.owner !== undefined || found.object.handler !== "nvidia")
    return {};
  const { ownerReferences = [], managedFields = [] } = found.object.metadata ?? {};
  // The operator's goes with the operator. One that Pulumi made may be of a release of this package that set no mark.
  const others = managedFields.every(
    ({ manager = "" }) => manager !== MANAGER && !manager.startsWith("pulumi"),
  );
  return ownerReferences.length === 0 && others
    ? { devicePlugin: { ...devicePlugin, makeRuntimeClass: false } }
    : {};
}
