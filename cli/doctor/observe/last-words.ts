import type * as k8s from "@kubernetes/client-node";
import { isTransient, lastLine } from "../../../components/clients/failure";
import { defined } from "../../../components/recipe/mapping";
import type { ContainerLogs } from "../../../components/diagnosis/observations";
import type { KubernetesApi } from "../../../components/clients/kubernetes/api";

/**
 * A container whose log must be read. If the container has restarted since it failed, the log of its previous run has
 * the reason.
 */
type SilentContainer = ReturnType<typeof containersOf>[number];

/**
 * The largest number of logs that each of the functions below selects. If more containers fail, they usually have the
 * same reason.
 */
const MOST = 20;

/** Lines that are read of a log: as many as the kubelet copies into a termination message. */
const LINES = 80;

/**
 * Containers that failed without a termination message, so that only their log has the reason. Charts seldom set
 * `terminationMessagePolicy: FallbackToLogsOnError`. Without this policy, a pod's status shows only an exit code.
 */
export const silentContainers = (pods: readonly k8s.V1Pod[]): SilentContainer[] =>
  containersOf(pods, endedBadly, runs);

/**
 * Device plugins on a node that offers no GPU. With FAIL_ON_INIT_ERROR=false a device plugin that finds no card runs
 * and is ready; only its log says what is missing.
 */
export function idlePlugins(
  pods: readonly k8s.V1Pod[],
  nodes: readonly k8s.V1Node[],
): SilentContainer[] {
  const nodesWithoutGpus = new Set(
    nodes.filter((node) => !offersGpus(node)).map(({ metadata }) => metadata?.name),
  );
  const plugins = pods.filter(
    ({ metadata, spec }) =>
      /device-plugin/.test(metadata?.name ?? "") && nodesWithoutGpus.has(spec?.nodeName),
  );
  return containersOf(plugins, runs);
}

/** Init containers of the stack's own pods. Only their log names what they wait for. */
export function initContainersOfStack(pods: readonly k8s.V1Pod[]): SilentContainer[] {
  const podsOfPackage = pods.filter(
    ({ metadata }) => metadata?.labels?.["app.kubernetes.io/managed-by"] === "talos-gpu",
  );
  const initContainersOnly = podsOfPackage.map(({ metadata, status }) => ({
    ...defined({ metadata }),
    status: { initContainerStatuses: status?.initContainerStatuses ?? [] },
  }));
  return containersOf(initContainersOnly, runs);
}

type ContainerFilter = (status: k8s.V1ContainerStatus) => boolean;

const runs: ContainerFilter = ({ state }) => state?.running !== undefined;

function containersOf(
  pods: readonly k8s.V1Pod[],
  isWanted: ContainerFilter,
  isRestarted: ContainerFilter = () => false,
) {
  const all = pods.flatMap(({ metadata: { namespace = "", name: pod = "" } = {}, status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
      .filter(isWanted)
      .map((containerStatus) => ({
        namespace,
        pod,
        container: containerStatus.name,
        restarted: isRestarted(containerStatus),
      })),
  );
  return all.slice(0, MOST);
}

function endedBadly({ ready, state, lastState }: k8s.V1ContainerStatus): boolean {
  if (ready) return false;
  const end = state?.terminated ?? lastState?.terminated;
  return end !== undefined && end.exitCode !== 0 && !end.message;
}

const offersGpus = ({ status }: k8s.V1Node): boolean =>
  Object.entries(status?.allocatable ?? {}).some(
    ([name, count]) => name.startsWith("nvidia.com/") && count !== "0",
  );

/**
 * Reads the logs of containers. A log that the API server refuses, e.g. of a run that is no longer kept, counts as
 * empty. `unread` has one sentence for each log for which the API server gave no answer.
 */
export async function readLastLogs(
  pods: readonly k8s.V1Pod[],
  nodes: readonly k8s.V1Node[],
  api: Pick<KubernetesApi, "text">,
): Promise<{ logs: ContainerLogs; unread: string[] }> {
  const logs = new Map<string, string>();
  const unread: string[] = [];
  const silent = [
    ...silentContainers(pods),
    ...idlePlugins(pods, nodes),
    ...initContainersOfStack(pods),
  ];
  const logReads = silent.map(async ({ namespace, pod, container, restarted }) => {
    const path = logPath(namespace, pod, container, restarted, LINES);
    const log = await api.text(`log of ${pod}`, path).catch((error: unknown) => {
      if (isTransient(error))
        unread.push(`the log of ${namespace}/${pod} could not be read: ${lastLine(error)}`);
      return "";
    });
    if (log.trim() !== "") logs.set(`${namespace}/${pod}/${container}`, log.trim());
  });
  await Promise.all(logReads);
  return { logs, unread };
}

/** Kubernetes API path for the last lines of the log of a container's present or previous run. */
export function logPath(
  namespace: string,
  pod: string,
  container: string,
  previous: boolean,
  lines: number,
): string {
  const query = new URLSearchParams({
    container,
    previous: String(previous),
    tailLines: String(lines),
  });
  return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${query.toString()}`;
}
