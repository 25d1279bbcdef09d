import type * as k8s from "@kubernetes/client-node";
import { SecretFiles } from "../components/machine/program/credentials";
import { TalosMachine } from "../components/machine/program/talos-machine";
import { Talosctl } from "../components/machine/program/talosctl";
import type { Observations, ObservedContainer, ObservedMachine, ObservedPod } from "../components/recipe/observations";
import type { ClusterSpec } from "../components/recipe/spec";
import { isReady, taintsOfNode, type KubernetesView } from "./kubernetes-view";

/** How to look at the machines of a cluster. */
export interface MachineAccess {
  talosctl: string;
  /** Version of that talosctl, e.g. `1.13.0`. */
  talosctlVersion: string;
  /** Path of the talosconfig. */
  talosconfig: string;
}

/** Looks at a cluster and its machines; changes nothing. What cannot be looked at stays out. */
export async function observe(
  kubernetes: KubernetesView,
  spec: ClusterSpec,
  access: MachineAccess,
): Promise<Observations> {
  const [cluster, machines] = await Promise.all([observeCluster(kubernetes), observeMachines(spec, access)]);
  return { ...cluster, machines };
}

async function observeCluster(kubernetes: KubernetesView): Promise<Observations> {
  const [pods, daemonSets, jobs, nodes, runtimeClasses, events] = await Promise.all([
    kubernetes.core.listPodForAllNamespaces(),
    kubernetes.apps.listDaemonSetForAllNamespaces(),
    kubernetes.batch.listJobForAllNamespaces(),
    kubernetes.core.listNode(),
    kubernetes.nodeApi.listRuntimeClass(),
    kubernetes.core.listEventForAllNamespaces(),
  ]);
  return {
    pods: pods.items.map(observedPod),
    daemonSets: daemonSets.items.map(({ metadata, status }) => ({
      ...named(metadata),
      desired: status?.desiredNumberScheduled ?? 0,
      ready: status?.numberReady ?? 0,
    })),
    jobs: jobs.items.map(({ metadata }) => named(metadata)),
    nodes: nodes.items.map((node) => ({
      name: node.metadata?.name ?? "",
      labels: node.metadata?.labels ?? {},
      allocatable: node.status?.allocatable ?? {},
      ready: isReady(node),
      taints: taintsOfNode(node),
    })),
    runtimeClasses: runtimeClasses.items.map(({ metadata }) => metadata?.name ?? ""),
    events: events.items.map(({ involvedObject, reason, message }) => ({
      object: `${involvedObject.kind}/${involvedObject.name}`,
      message: message ?? "",
      ...(involvedObject.namespace === undefined ? {} : { namespace: involvedObject.namespace }),
      ...(reason === undefined ? {} : { reason }),
    })),
  };
}

const named = (metadata: k8s.V1ObjectMeta | undefined): { namespace: string; name: string } => ({
  namespace: metadata?.namespace ?? "",
  name: metadata?.name ?? "",
});

function observedPod({ metadata, spec, status }: k8s.V1Pod): ObservedPod {
  return {
    ...named(metadata),
    phase: status?.phase ?? "Unknown",
    labels: metadata?.labels ?? {},
    initContainers: (status?.initContainerStatuses ?? []).map(observedContainer),
    containers: (status?.containerStatuses ?? []).map(observedContainer),
    ...(spec?.nodeName === undefined ? {} : { node: spec.nodeName }),
    ...(status?.reason === undefined ? {} : { reason: status.reason }),
    ...(status?.message === undefined ? {} : { message: status.message }),
  };
}

function observedContainer({ name, state, ready, lastState }: k8s.V1ContainerStatus): ObservedContainer {
  const { waiting, running, terminated } = state ?? {};
  const why = waiting ?? terminated;
  return {
    name,
    ready,
    state: running ? "running" : terminated ? "terminated" : "waiting",
    ...(why?.reason === undefined ? {} : { reason: why.reason }),
    ...(why?.message === undefined ? {} : { message: why.message }),
    ...(lastState?.terminated?.message === undefined ? {} : { lastMessage: lastState.terminated.message }),
    ...(terminated === undefined ? {} : { exitCode: terminated.exitCode }),
  };
}

async function observeMachines(spec: ClusterSpec, access: MachineAccess): Promise<ObservedMachine[]> {
  const talosctl = new Talosctl({ binary: access.talosctl, talosconfig: access.talosconfig, secrets: [] });
  const files = new SecretFiles();
  try {
    return await Promise.all(
      Object.entries(spec.machines).map(async ([name, { address }]) =>
        observedMachine(name, new TalosMachine(talosctl, address, access.talosctlVersion, files)),
      ),
    );
  } finally {
    files.close();
  }
}

async function observedMachine(name: string, machine: TalosMachine): Promise<ObservedMachine> {
  const seen: ObservedMachine = { name };
  try {
    const schematicId = await machine.schematic();
    if (schematicId !== undefined) seen.schematicId = schematicId;
    const modules = await machine.read("/proc/modules");
    if (modules !== undefined) seen.modules = modules.split("\n").flatMap((line) => line.split(" ")[0] || []);
    const driver = await machine.read("/proc/driver/nvidia/version");
    seen.driverVersion = driver === undefined ? null : (/\d+\.\d+(\.\d+)?/.exec(driver)?.[0] ?? null);
    seen.services = await machine.services();
  } catch (error) {
    seen.errors = [(error as Error).message];
  }
  return seen;
}
