import { MANAGER } from "../clients/kubernetes/manager";
import { isMapping } from "../recipe/mapping";
import { askCluster, type Open } from "./ask-cluster";
import type { AskedStack } from "./release-facts";

/**
 * A stack's `devicePlugin`, with `makeRuntimeClass: false` if the cluster has an external RuntimeClass `nvidia` with
 * the right handler. Asks the cluster only if the stack would create the class. Never fails: without an answer the
 * result is empty, so the stack creates the class, and the update fails if the class already exists.
 */
export async function withExistingRuntimeClass(
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
  const runtimeClass = await askCluster(
    kubeconfig,
    (objects) => objects.read(key),
    open,
    environment,
  );
  if (
    runtimeClass?.object === undefined ||
    runtimeClass.owner !== undefined ||
    runtimeClass.object.handler !== "nvidia"
  )
    return {};
  const { ownerReferences = [], managedFields = [] } = runtimeClass.object.metadata ?? {};
  // The operator's class is deleted with the operator. A class from Pulumi may come from an older release of this
  // package that set no mark.
  const isManagedByOthers = managedFields.every(
    ({ manager = "" }) => manager !== MANAGER && !manager.startsWith("pulumi"),
  );
  return ownerReferences.length === 0 && isManagedByOthers
    ? { devicePlugin: { ...devicePlugin, makeRuntimeClass: false } }
    : {};
}
