import type { V1Deployment, V1Pod, V1PodStatus } from "@kubernetes/client-node";
import { leaderWorkerSet } from "../../components/recipe/facts/gpu-provider";
import type { Cluster } from "../kubernetes/cluster";
import { gpusOf, taintsOfNode } from "../kubernetes/node";
import type { Machines } from "../machines";
import type { MachineReport, WorkloadReport } from "./report";

/** The present machines: the image of each, and the GPUs that its node offers. */
export async function gatherMachines(
  machines: Machines,
  kubernetes: Cluster,
): Promise<Record<string, MachineReport>> {
  const [states, nodes, slices] = await Promise.all([
    machines.state(),
    kubernetes.nodes(),
    kubernetes.slices(),
  ]);
  const reports = Object.entries(states).map(([name, state]): [string, MachineReport] => [
    name,
    {
      talosVersion: state.talosVersion,
      schematicId: state.schematicId,
      driverVersion: state.driverVersion,
      reboots: state.reboots,
      allocatable: gpusOf(nodes[name], slices),
      taints: taintsOfNode(nodes[name]),
    },
  ]);
  return Object.fromEntries(reports);
}

interface MachineCounts {
  /** Calls to the APIs of all machines together. */
  requests: number;
  reboots: Record<string, number>;
}

/** Counts the calls and reboots of all machines so far. */
export async function countCallsAndReboots(machines: Machines): Promise<MachineCounts> {
  const states = Object.entries(await machines.state());
  return {
    requests: states.reduce((sum, [, { requests }]) => sum + requests, 0),
    reboots: Object.fromEntries(states.map(([name, { reboots }]) => [name, reboots])),
  };
}

/** Counts the calls and reboots since an earlier count. */
export async function countSince(
  earlier: MachineCounts,
  machines: Machines,
): Promise<MachineCounts> {
  const current = await countCallsAndReboots(machines);
  const reboots = Object.entries(current.reboots).map(([name, count]) => [
    name,
    count - (earlier.reboots[name] ?? 0),
  ]);
  return {
    requests: current.requests - earlier.requests,
    reboots: Object.fromEntries(reboots) as MachineCounts["reboots"],
  };
}

/** Selects the stack's objects. The workloads among them are Deployments, pods without an owner, and groups of pods. */
const stackSelector = "labelSelector=app.kubernetes.io/managed-by%3Dtalos-gpu";

/** The present workloads of the stack. */
export async function gatherWorkloads(kubernetes: Cluster): Promise<WorkloadReport[]> {
  const [deployments, pods] = await Promise.all([
    kubernetes.all<V1Deployment>(`/apis/apps/v1/deployments?${stackSelector}`),
    kubernetes.all<V1Pod>(`/api/v1/pods?${stackSelector}`),
  ]);
  return [
    ...deployments.map(({ metadata, spec, status }) => ({
      namespace: metadata?.namespace ?? "",
      name: metadata?.name ?? "",
      kind: "Deployment",
      ready:
        (status?.readyReplicas ?? 0) === (spec?.replicas ?? 1) &&
        status?.observedGeneration === metadata?.generation,
    })),
    ...pods
      .filter(({ metadata }) => (metadata?.ownerReferences ?? []).length === 0)
      .map(({ metadata, status }) => ({
        namespace: metadata?.namespace ?? "",
        name: metadata?.name ?? "",
        kind: "Pod",
        ready: status?.phase === "Succeeded" || isReady(status),
      })),
    ...pods
      .filter(({ metadata }) => metadata?.labels?.[leaderWorkerSet.index] === "0")
      .map(({ metadata }) => {
        const { [leaderWorkerSet.set]: name = "" } = metadata?.labels ?? {};
        const group = pods.filter((pod) => pod.metadata?.labels?.[leaderWorkerSet.set] === name);
        const size = Number(metadata?.annotations?.["leaderworkerset.sigs.k8s.io/size"]);
        const ready = group.length === size && group.every(({ status }) => isReady(status));
        return { namespace: metadata?.namespace ?? "", name, kind: "LeaderWorkerSet", ready };
      }),
  ];
}

const isReady = (status: V1PodStatus | undefined): boolean =>
  status?.conditions?.some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  ) ?? false;
