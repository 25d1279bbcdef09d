import { KubernetesApi } from "../../../components/clients/kubernetes/api";
import { observeCluster, type Seen } from "./observe-cluster";
import { observeMachines } from "./observe-machines";
import type { Access } from "../../reach/access";

/** Default of `within`. */
const WITHIN = 55_000;

/**
 * Looks at a cluster and its machines; changes nothing. `unseen` names what could not be looked at.
 *
 * @param addresses Talos API addresses by node name. Default: the internal addresses of the cluster's Talos nodes.
 * @param within Milliseconds after which it gives up whatever has not answered, but for a machine that it was told to wait for.
 */
export async function observe(access: Access, addresses?: Record<string, string>, within = WITHIN): Promise<Seen> {
  const end = performance.now() + within;
  // A credential plugin, the lists, and then the logs have a share each.
  const seeing = observeCluster(new KubernetesApi(access.kubeconfig, [], 0.2 * within), new Date());
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
