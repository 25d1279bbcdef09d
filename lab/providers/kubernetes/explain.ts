import type { KubernetesObject } from "./api";
import type { Cluster } from "./cluster";
import { conditionsOf } from "./readiness";
import { title } from "./tokens";

interface ContainerStatus {
  name: string;
  state?: {
    waiting?: { reason?: string; message?: string };
    terminated?: { exitCode: number; reason?: string; message?: string };
  };
}

/** Why a pod does not run, one line per reason: scheduling, waiting or ended containers. */
export function podReasons(pod: KubernetesObject): string[] {
  const status = pod["status"] ?? {};
  const scheduled = conditionsOf(pod).find(({ type, status: is }) => type === "PodScheduled" && is === "False");
  const containers = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
  ] as ContainerStatus[];
  const lines = containers.flatMap(({ name, state }) => {
    const { waiting, terminated } = state ?? {};
    if (waiting) return [`container ${name}: ${[waiting.reason, waiting.message].filter(Boolean).join(": ")}`];
    if (!terminated || terminated.exitCode === 0) return [];
    return [
      `container ${name} ended with exit code ${terminated.exitCode}: ` +
        [terminated.reason, terminated.message].filter(Boolean).join(": "),
    ];
  });
  const reasons = [
    ...(scheduled ? [`not scheduled: ${[scheduled.reason, scheduled.message].filter(Boolean).join(": ")}`] : []),
    ...(status.reason ? [`${status.reason}: ${status.message ?? ""}`] : []),
    ...lines,
  ];
  return reasons.map((reason) => `${title(pod)}: ${reason.trim()}`);
}

/** Conditions that do not hold, one line each; those that report trouble by holding are told by `Failed` in their name. */
export function conditionReasons(object: KubernetesObject): string[] {
  return conditionsOf(object)
    .filter(({ type, status }) =>
      /(Failed|Failure|Pressure|Unavailable)/.test(type) ? status === "True" : status !== "True",
    )
    .map(({ type, status, reason, message }) =>
      `${title(object)}: condition ${type}=${status} ${[reason, message].filter(Boolean).join(": ")}`.trim(),
    );
}

const latestEvents = 8;

/**
 * The latest warnings of a namespace, one line each, the newest last. With `about`, only those that name the object or
 * what it owns, whose names begin with its own (ReplicaSets, Jobs, pods).
 */
export async function warnings(
  cluster: Cluster,
  namespace: string,
  about: string | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  const query = { fieldSelector: "type=Warning" };
  const { items } = await cluster.list(`/api/v1/namespaces/${namespace}/events`, query, signal);
  const concerned = items.filter((event) => {
    const other = String(event["involvedObject"]?.name ?? "");
    return about === undefined || other === about || other.startsWith(`${about}-`);
  });
  const time = (event: KubernetesObject): string =>
    String(event["lastTimestamp"] ?? event["eventTime"] ?? event.metadata?.["creationTimestamp"] ?? "");
  const lines = concerned
    .sort((one, other) => time(one).localeCompare(time(other)))
    .map(
      ({ involvedObject, reason, message }) =>
        `event ${involvedObject?.kind} ${involvedObject?.name}: ${reason}: ${message}`,
    );
  return [...new Set(lines)].slice(-latestEvents);
}

/** Pods that belong to an object: by its selector, by owner, or the pod itself. */
export async function podsOf(
  cluster: Cluster,
  object: KubernetesObject,
  signal: AbortSignal,
): Promise<KubernetesObject[]> {
  const namespace = object.metadata?.namespace;
  if (!namespace) return [];
  if (object.kind === "Pod") return [await cluster.get(object, signal)];
  const spec = object["spec"];
  const labels = (spec?.selector?.matchLabels ?? (object.kind === "Service" ? spec?.selector : undefined)) as
    Record<string, string> | undefined;
  if (!labels) return [];
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  const { items } = await cluster.list(`/api/v1/namespaces/${namespace}/pods`, { labelSelector }, signal);
  return items.map((pod) => ({ ...pod, kind: "Pod" })); // items of a list do not say their kind
}
