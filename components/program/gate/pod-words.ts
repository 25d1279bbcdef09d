import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { onlookerName } from "../../recipe/cluster/smoke-test-names";

/**
 * Longest quote of a text, in characters. The quote is the end of a long text: wrapped errors name their cause last.
 */
const WIDTH = 300;

/** Reasons why a pod does not run; empty if the pod's status gives no reason. */
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
    status?.conditions?.find(
      ({ type, status: value }) => type === "PodScheduled" && value === "False",
    )?.message ?? ""
  );
}

/**
 * Sentence about the cards that a container without a GPU request saw during the test; empty if the container saw none.
 * NVIDIA's own validation of a cluster fails if such a container sees cards (NVIDIA/aicr#1620).
 */
export function onlookerOutput(pods: readonly V1Pod[]): string {
  const onlookers = pods
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .filter(isOnlooker);
  const sight = onlookers.map(({ state }) => state?.terminated?.message?.trim()).find(Boolean);
  if (sight === undefined) return "";
  return `; a container next to it ${sight}: with NVIDIA's runtime, every image that sets NVIDIA_VISIBLE_DEVICES=all (CUDA images do) gets all cards`;
}

const isOnlooker = ({ name, state }: V1ContainerStatus): boolean =>
  name === onlookerName && state?.terminated?.exitCode === 0;

/** Whether the pod runs and all its containers are ready. */
export const isReady = ({ status }: V1Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ===
  true;

/**
 * Why a container does not run. If the container waits for a restart, its last exit says more than the reason for the
 * wait.
 */
function containerWords({ state, lastState }: V1ContainerStatus): string {
  const termination = state?.terminated ?? lastState?.terminated;
  const waiting = state?.waiting;
  const joinReason = (reason?: string, message?: string): string =>
    [reason, message].filter(Boolean).join(": ");
  if (termination !== undefined && termination.exitCode !== 0)
    return [waiting?.reason, `exit ${termination.exitCode}`, termination.message?.trim()]
      .filter(Boolean)
      .join(", ");
  return waiting === undefined || waiting.reason === "PodInitializing"
    ? ""
    : joinReason(waiting.reason, waiting.message);
}

const shortened = (text: string): string => {
  const line = text.trim().replace(/(?<!\s)\s*\n\s*/g, " | ");
  return line.length <= WIDTH ? line : `…${line.slice(-WIDTH)}`;
};
