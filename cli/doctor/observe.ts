import type { KubeConfig } from "@kubernetes/client-node";
import type { Observations } from "../../components/diagnosis/observations";
import { observeCluster } from "./observe-cluster";
import { observeMachines, type MachineAccess } from "./observe-machines";

/** How to look at a cluster. */
export interface Access {
  kubeconfig: KubeConfig;
  /** How to look at its machines; undefined leaves them out. */
  machines?: MachineAccess;
}

/** What was seen, and what could not be looked at, one sentence each. */
export interface Seen {
  observations: Observations;
  notes: string[];
}

/**
 * Looks at a cluster and its machines; changes nothing. What cannot be looked at stays out and is said so.
 *
 * @param addresses Talos API addresses by node name. Default: the internal addresses of the cluster's Talos nodes.
 * @throws Error when Kubernetes tells nothing at all.
 */
export async function observe(access: Access, addresses?: Record<string, string>): Promise<Seen> {
  const cluster = await observeCluster(access.kubeconfig);
  if (access.machines === undefined) return cluster;
  const { machines, notes } = await observeMachines(addresses ?? cluster.addresses, access.machines);
  return { observations: { ...cluster.observations, machines }, notes: [...cluster.notes, ...notes] };
}
