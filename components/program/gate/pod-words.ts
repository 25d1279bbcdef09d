import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { onlookerName } from "../../recipe/cluster/smoke-test-names";

/**
 * Characters of a text that are quoted. The end of a long one says what went wrong: wrapped errors begin with who
 * wraps them.
 */
const WIDTH = 300;

/** Reasons of a pod that does not run well; empty if it gives none. */
export function podWords(pod: V1Pod): string {
  const { metadata, status } = pod;
  const containers = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ];
  const words = [
    [status?.reason, status?.message].filter(Boolean).join(": "),
    schedulerWords(pod),
    ...containers.map(containerWords),
  ].filter((text) => text !== "");
  return words.length === 0
    ? ""
    : `Pod ${metadata?.name ?? ""}: ${words.map(shortened).join(", ")}`;
}

/** The scheduler's message about a pod that it cannot place; empty for a pod with a node. */
export function schedulerWords({ status }: V1Pod): string {
  return (
    status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False")
      ?.message ?? ""
  );
}

/**
 * Cards that a test's container saw without a request, with the consequence; empty if it saw none. NVIDIA's own
 * validation fails a cluster for it (NVIDIA/aicr#1620).
 */
export function sightOf(pods: readonly V1Pod[]): string {
  const onlookers = pods
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .filter(isOnlooker);
  const sight = onlookers.map(({ state }) => state?.terminated?.message?.trim()).find(Boolean);
  if (sight === undefined) return "";
  return `; a container next to it ${sight}: under NVIDIA's runtime every image that says NVIDIA_VISIBLE_DEVICES=all, as CUDA's do, gets all cards`;
}

const isOnlooker = ({ name, state }: V1ContainerStatus): boolean =>
  name === onlookerName && state?.terminated?.exitCode === 0;

/** Whether the pod runs and all its containers are ready. */
export const isReady = ({ status }: V1Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

/** While a container waits to be started again its own last words say more than why it waits. */
function containerWords({ state, lastState }: V1ContainerStatus): string {
  const ended = state?.terminated ?? lastState?.terminated;
  const waiting = state?.waiting;
  const about = (reason?: string, message?: string): string =>
    [reason, message].filter(Boolean).join(": ");
  if (ended !== undefined && ended.exitCode !== 0)
    return [waiting?.reason, `exit ${ended.exitCode}`, ended.message?.trim()]
      .filter(Boolean)
      .join(", ");
  return waiting === undefined || waiting.reason === "PodInitializing"
    ? ""
    : about(waiting.reason, waiting.message);
}

const shortened = (text: string): string => {
  const line = text.trim().replace(/(?<!\s)\s*\n\s*/g, " | ");
  return line.length <= WIDTH ? line : `…${line.slice(-WIDTH)}`;
};
