import * as k8s from "@kubernetes/client-node";
import type { Observations } from "../../components/diagnosis/observations";
import { talosVersionOf } from "../../components/diagnosis/rules/system";
import { hearLastWords } from "./last-words";
import { livingEvents, livingPods } from "./living";
import { observedDaemonSet, observedEvent, observedNode, observedPod, named } from "./observed";
import type { Seen } from "./observe";

/** What of Kubernetes was seen. */
export interface SeenCluster extends Seen {
  /** Internal addresses of the Talos nodes, by name. */
  addresses: Record<string, string>;
}

/** Milliseconds that one list may take. */
const LIMIT = 30_000;

/**
 * Lists what a diagnosis goes by. A kind that the credentials may not list stays out, with a note.
 *
 * @throws Error when nothing can be listed.
 */
export async function observeCluster(kubeconfig: k8s.KubeConfig): Promise<SeenCluster> {
  const core = kubeconfig.makeApiClient(k8s.CoreV1Api);
  const apps = kubeconfig.makeApiClient(k8s.AppsV1Api);
  const failed: { kind: string; why: string }[] = [];
  const list = async <T>(kind: string, ask: Promise<{ items: T[] }>): Promise<T[] | undefined> => {
    try {
      return (await within(ask)).items;
    } catch (error) {
      failed.push({ kind, why: reasonOf(error) });
      return undefined;
    }
  };
  const [pods, daemonSets, deployments, jobs, nodes, runtimeClasses, events] = await Promise.all([
    list("pods", core.listPodForAllNamespaces()),
    list("DaemonSets", apps.listDaemonSetForAllNamespaces()),
    list("Deployments", apps.listDeploymentForAllNamespaces()),
    list("Jobs", kubeconfig.makeApiClient(k8s.BatchV1Api).listJobForAllNamespaces()),
    list("nodes", core.listNode()),
    list("RuntimeClasses", kubeconfig.makeApiClient(k8s.NodeV1Api).listRuntimeClass()),
    list("events", core.listEventForAllNamespaces()),
  ]);
  if (failed.length === 7) {
    throw new Error(
      `kubeconfig: ${kubeconfig.getCurrentCluster()?.server ?? "no cluster"} does not answer (${failed[0]?.why}), ` +
        "so nothing can be looked at; check the server and the credentials, e.g. with `kubectl get nodes`",
    );
  }
  await within(hearLastWords(livingPods(pods ?? [], jobs ?? []), core)).catch(() => undefined); // said less, not wrong
  const observations: Observations = {
    ...(pods && { pods: livingPods(pods, jobs ?? []).map(observedPod) }),
    ...(daemonSets && { daemonSets: daemonSets.map(observedDaemonSet) }),
    ...(deployments && { deployments: deployments.map(({ metadata }) => named(metadata)) }),
    ...(jobs && { jobs: jobs.map(({ metadata }) => named(metadata)) }),
    ...(nodes && { nodes: nodes.map(observedNode) }),
    ...(runtimeClasses && { runtimeClasses: runtimeClasses.map(({ metadata }) => metadata?.name ?? "") }),
    ...(events && {
      events: livingEvents(events, { pods, deployments, daemonSets, jobs }, new Date()).map(observedEvent),
    }),
  };
  return {
    observations,
    notes: failed.map(({ kind, why }) => `${kind} could not be listed: ${why}`),
    addresses: addressesOf(nodes ?? []),
  };
}

function addressesOf(nodes: k8s.V1Node[]): Record<string, string> {
  const found = nodes
    .filter(({ status }) => talosVersionOf({ osImage: status?.nodeInfo?.osImage ?? "" }) !== undefined)
    .flatMap((node): [string, string][] => {
      const address = node.status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
      return address === undefined ? [] : [[node.metadata?.name ?? "", address]];
    });
  return Object.fromEntries(found);
}

async function within<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${LIMIT / 1000} s`)), LIMIT);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Why a call failed, in one line: the client's own message holds the whole answer with its headers. */
function reasonOf(error: unknown): string {
  if (error instanceof k8s.ApiException) return `HTTP ${error.code}`;
  return (error as Error).message.split("\n")[0] ?? "";
}
