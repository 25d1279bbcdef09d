import { escaped } from "../evidence";
import type { Observations, ObservedContainer, ObservedPod } from "../observations";

/** One thing that is not as the plan says, or as it must be where no plan is known. */
export interface Difference {
  /** Subject of the difference, e.g. `node gpu-1`, `DaemonSet gpu-operator/nvidia-driver`. */
  about: string;
  /** Difference from the plan, e.g. `offers 0 of nvidia.com/gpu, the plan says 1`. */
  problem: string;
  /** Last messages of the containers that crash or wait, one line each. */
  lastWords?: string[];
  /** Remedy, if an update of the stack is none. */
  remedy?: string;
}

/** A difference in one line, without its last words. */
export const inOneLine = ({ about, problem }: Difference): string => `${about}: ${problem}`;

/** A difference with its last words, if any; none without a problem. */
export function difference(
  about: string,
  problem: string | false | undefined,
  lastWords: string[] = [],
): Difference[] {
  return problem ? [{ about, problem, ...(lastWords.length > 0 ? { lastWords } : {}) }] : [];
}

/** Lines that are quoted of one log, and lines of last words that one difference has at most. */
const LOG_LINES = 3;
const MOST = 6;

/** Characters of a line that are quoted. */
const WIDTH = 300;

/** Messages of an object's pods that do not run well, and of its events; each line once. */
export function lastWords(
  seen: Observations,
  kind: string,
  namespace: string,
  name: string,
): string[] {
  const pods = podsOf(seen, kind, namespace, name);
  const about = [`${kind}/${name}`, ...pods.map((pod) => `Pod/${pod.name}`)];
  const events = (seen.events ?? [])
    .filter(
      (event) =>
        event.namespace === namespace &&
        !routine.test(event.reason ?? "") &&
        (about.includes(event.object) || isReplicaSet(event.object, kind, name)),
    )
    .map(({ object, message }) => `${object}: ${shortened(lastLine(message))}`);
  return [...new Set([...pods.flatMap(wordsOfPod), ...events])].slice(0, MOST);
}

/** Messages of one pod that does not run well; none if it runs well. */
export function wordsOfPod(pod: ObservedPod): string[] {
  const about = `Pod/${pod.name}`;
  const own = pod.message ?? pod.reason;
  const containers = [...(pod.initContainers ?? []), ...(pod.containers ?? [])].flatMap(
    (container) => wordsOfContainer(container).map((line) => `${about} ${container.name}: ${line}`),
  );
  return [...(own === undefined ? [] : [`${about}: ${shortened(lastLine(own))}`]), ...containers];
}

function wordsOfContainer(container: ObservedContainer): string[] {
  const { ready, state, reason, message, lastMessage, exitCode, log } = container;
  const done = state === "terminated" && exitCode === 0;
  if (done || (ready === true && log === undefined)) return [];
  const status = [reason, exitCode === undefined ? undefined : `exit ${exitCode}`]
    .filter(Boolean)
    .join(", ");
  // While a container waits to be started again, its message is the kubelet's and says only that it waits.
  const spoken = lastMessage ?? (reason === "CrashLoopBackOff" ? undefined : message) ?? log;
  const lines = (spoken ?? "").split("\n").filter((line) => line.trim() !== "");
  return [
    ...(status === "" || status === "PodInitializing" ? [] : [status]),
    ...lines.slice(-LOG_LINES).map(shortened),
  ];
}

/** Pods that a controller made. A Deployment's are made by its ReplicaSets, whose names begin with its own. */
const podsOf = (seen: Observations, kind: string, namespace: string, name: string): ObservedPod[] =>
  (seen.pods ?? []).filter(
    (pod) =>
      pod.namespace === namespace &&
      (kind === "Pod"
        ? pod.name === name
        : pod.owner === `${kind}/${name}` || isReplicaSet(pod.owner ?? "", kind, name)),
  );

/** Reasons of events that come with every pod, also with one that is well. */
const routine = /^(Scheduled|Pulling|Pulled|Created|Started|SuccessfulCreate|SuccessfulDelete)$/;

const isReplicaSet = (object: string, kind: string, name: string): boolean =>
  kind === "Deployment" && new RegExp(`^ReplicaSet/${escaped(name)}-[a-z0-9]+$`).test(object);

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? "";

/** The end of a long line says what went wrong: wrapped errors begin with who wraps them. */
const shortened = (line: string): string =>
  line.length <= WIDTH ? line.trim() : `…${line.trim().slice(-WIDTH)}`;
