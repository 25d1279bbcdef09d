import { escaped } from "../evidence";
import type { Observations, ObservedContainer, ObservedPod } from "../observations";

/** One difference between the observations and the plan. Without a plan: one difference from a working GPU cluster. */
export interface Difference {
  /** What differs, e.g. `node gpu-1`, `DaemonSet gpu-operator/nvidia-driver`. */
  about: string;
  /** How it differs, e.g. `offers 0 of nvidia.com/gpu, the plan says 1`. */
  problem: string;
  /** Last messages of the containers that crash or wait, one line each. */
  lastWords?: string[];
  /** Remedy, if an update of the stack does not help. */
  remedy?: string;
}

/** A difference in one line, without `lastWords`. */
export const inOneLine = ({ about, problem }: Difference): string => `${about}: ${problem}`;

/** A list with one difference; an empty list without a problem. */
export function difference(
  about: string,
  problem: string | false | undefined,
  lastWords: string[] = [],
): Difference[] {
  return problem ? [{ about, problem, ...(lastWords.length > 0 ? { lastWords } : {}) }] : [];
}

/** Greatest number of lines that a difference quotes from one log, and in total. */
const LOG_LINES = 3;
const MOST = 6;

/** Greatest number of characters that a difference quotes from one line. */
const WIDTH = 300;

/** Messages of an object's failing pods, and of the events about the object and its pods, without duplicates. */
export function lastWords(
  observations: Observations,
  kind: string,
  namespace: string,
  name: string,
): string[] {
  const pods = podsOf(observations, kind, namespace, name);
  const about = [`${kind}/${name}`, ...pods.map((pod) => `Pod/${pod.name}`)];
  const events = (observations.events ?? [])
    .filter(
      (event) =>
        event.namespace === namespace &&
        !routine.test(event.reason ?? "") &&
        (about.includes(event.object) || isReplicaSet(event.object, kind, name)),
    )
    .map(({ object, message }) => `${object}: ${shortened(lastLine(message))}`);
  return [...new Set([...pods.flatMap(wordsOfPod), ...events])].slice(0, MOST);
}

/** Messages of a failing pod; empty if the pod runs well. */
export function wordsOfPod(pod: ObservedPod): string[] {
  const about = `Pod/${pod.name}`;
  const statusText = pod.message ?? pod.reason;
  const containers = [...(pod.initContainers ?? []), ...(pod.containers ?? [])].flatMap(
    (container) => wordsOfContainer(container).map((line) => `${about} ${container.name}: ${line}`),
  );
  return [
    ...(statusText === undefined ? [] : [`${about}: ${shortened(lastLine(statusText))}`]),
    ...containers,
  ];
}

function wordsOfContainer(container: ObservedContainer): string[] {
  const { ready, state, reason, message, lastMessage, exitCode, log } = container;
  const hasSucceeded = state === "terminated" && exitCode === 0;
  if (hasSucceeded || (ready === true && log === undefined)) return [];
  const status = [reason, exitCode === undefined ? undefined : `exit ${exitCode}`]
    .filter(Boolean)
    .join(", ");
  // While a container waits for a restart, its message comes from the kubelet and only says that it waits.
  const output = lastMessage ?? (reason === "CrashLoopBackOff" ? undefined : message) ?? log;
  const lines = (output ?? "").split("\n").filter((line) => line.trim() !== "");
  return [
    ...(status === "" || status === "PodInitializing" ? [] : [status]),
    ...lines.slice(-LOG_LINES).map(shortened),
  ];
}

/**
 * Pods of a controller. The owner of a Deployment's pod is a ReplicaSet whose name begins with the Deployment's name.
 */
const podsOf = (
  observations: Observations,
  kind: string,
  namespace: string,
  name: string,
): ObservedPod[] =>
  (observations.pods ?? []).filter(
    (pod) =>
      pod.namespace === namespace &&
      (kind === "Pod"
        ? pod.name === name
        : pod.owner === `${kind}/${name}` || isReplicaSet(pod.owner ?? "", kind, name)),
  );

/** Reasons of events that also occur for healthy pods. */
const routine = /^(Scheduled|Pulling|Pulled|Created|Started|SuccessfulCreate|SuccessfulDelete)$/;

const isReplicaSet = (object: string, kind: string, name: string): boolean =>
  kind === "Deployment" && new RegExp(`^ReplicaSet/${escaped(name)}-[a-z0-9]+$`).test(object);

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? "";

/** A line. If it is too long, only its end stays, because a wrapped error names its cause at the end. */
const shortened = (line: string): string =>
  line.length <= WIDTH ? line.trim() : `…${line.trim().slice(-WIDTH)}`;
