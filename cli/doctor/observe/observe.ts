import type { KubeConfig } from "@kubernetes/client-node";
import { kubernetesApi } from "../../reach/kubernetes-api";
import { observeCluster, type Seen, type SeenCluster } from "./observe-cluster";
import { observeMachines } from "./observe-machines";
import type { Access } from "../../reach/access";
import { reachOf } from "../../reach/reach";

/** Milliseconds for all of it, where nobody says otherwise. */
const WITHIN = 55_000;

/**
 * Looks at a cluster and its machines; changes nothing. What cannot be looked at stays out and is said so.
 *
 * @param addresses Talos API addresses by node name. Default: the internal addresses of the cluster's Talos nodes.
 * @param within Milliseconds in which everything that does not answer is given up, but for a machine that is waited for.
 */
export async function observe(access: Access, addresses?: Record<string, string>, within = WITHIN): Promise<Seen> {
  const end = performance.now() + within;
  const seeing = seenCluster(access.kubeconfig, within);
  if (access.machines === undefined) return seeing;
  const machineAddresses = addresses ?? (await seeing).addresses;
  const limit = access.machines.patience === undefined ? { limit: 0.9 * (end - performance.now()) } : {};
  const [cluster, machines] = await Promise.all([
    seeing,
    observeMachines(machineAddresses, { ...access.machines, ...limit }),
  ]);
  return {
    observations: { ...cluster.observations, machines: machines.machines },
    unseen: [...cluster.unseen, ...machines.unseen],
    leftOut: [...cluster.leftOut, ...machines.leftOut],
  };
}

/** A credential plugin, the lists, and then the logs have a share each. */
async function seenCluster(kubeconfig: KubeConfig, within: number): Promise<SeenCluster> {
  const now = new Date();
  try {
    return await observeCluster(kubernetesApi(await reachOf(kubeconfig, now, 0.25 * within), 0.2 * within), now);
  } catch (error) {
    const why = (error as Error).message;
    return { observations: {}, unseen: [`Kubernetes could not be looked at: ${why}`], leftOut: [], addresses: {} };
  }
}
