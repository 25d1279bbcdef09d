import type { Found, Kubernetes } from "../e2e/support/kubernetes";
import { type Case, cases, mainOf, noHandler } from "./cases";
import { until } from "./stand";

const namespace = "everyday";
const pods = `/api/v1/namespaces/${namespace}/pods`;

/** Makes what the cases need beside their pods. */
export async function prepare(kubernetes: Kubernetes): Promise<void> {
  const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
  await kubernetes.create("/api/v1/namespaces", { metadata: { name: namespace, labels } });
  await kubernetes.create("/apis/node.k8s.io/v1/runtimeclasses", {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: noHandler },
    handler: noHandler,
  });
  // A pod is refused until its namespace has one.
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  const isThere = (): Promise<boolean> =>
    kubernetes.read(account).then(
      () => true,
      () => false,
    );
  await until("the namespace's account", isThere, (there) => there);
}

/** Takes it away again. */
export async function tidy(kubernetes: Kubernetes): Promise<void> {
  await kubernetes.remove(`/api/v1/namespaces/${namespace}`);
  await kubernetes.remove(`/apis/node.k8s.io/v1/runtimeclasses/${noHandler}`);
}

/** What is told of a pod, in words that do not hang on the node or the moment. */
export type Telling = Record<string, unknown>;

/** Everything that the namespace has of pods, and of what was said of them. */
interface Sight {
  pods: Found[];
  said: Found[];
}

/** Milliseconds in which one look serves all who wait: each by itself would ask for a hundred things a second. */
const serves = 200;

/** Milliseconds between two changes of a pod that is nudged. */
const nudges = 1500;

/** Looks at the namespace, at most so often. */
export function sights(kubernetes: Kubernetes): () => Promise<Sight> {
  let [at, sight] = [-Infinity, undefined as Promise<Sight> | undefined];
  const look = async (): Promise<Sight> => {
    const lists = [pods, `/api/v1/namespaces/${namespace}/events`].map((path) => kubernetes.read(path));
    const [{ items }, { items: said }] = await Promise.all(lists);
    return { pods: items, said };
  };
  return () => {
    if (performance.now() - at > serves) [at, sight] = [performance.now(), look()];
    return sight!;
  };
}

/** Seconds after which a pod that runs goes on running: longer than any case gives it. */
const goesOn = 4;

/** As a pod whose case the node does not have. */
const justRuns: Omit<Case, "pod"> = {
  come: ({ status }) => status?.phase === "Running" && Date.now() - Date.parse(status.startTime) > goesOn * 1000,
  events: [],
};

/**
 * Runs a case on a node and gives what is told of it.
 *
 * @param has whether the node has the case; where it does not, the pod has to run.
 */
export async function tellingOf(
  kubernetes: Kubernetes,
  sight: () => Promise<Sight>,
  what: string,
  node: string,
  has = true,
): Promise<Telling> {
  const { pod: make } = cases[what]!;
  const { come, events, nudged = false } = has ? cases[what]! : justRuns;
  const name = `${what.toLowerCase().replace(/[^a-z0-9]+/g, "-")}-${node}`;
  const { spec = {}, container = {} } = make(node);
  await kubernetes.create(pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": node },
      terminationGracePeriodSeconds: 0,
      ...spec,
      containers: [{ name: "main", image: "busybox:1.37", ...container }],
    },
  });
  const look = async (): Promise<{ pod: Found; said: Found[] }> => {
    if (nudged) await nudge();
    const seen = await sight();
    const own = seen.said.filter(({ involvedObject }: Found) => involvedObject.name === name);
    return { pod: seen.pods.find(({ metadata }: Found) => metadata.name === name), said: own };
  };
  let nudgedAt = performance.now();
  const nudge = async (): Promise<void> => {
    if (performance.now() - nudgedAt < nudges) return;
    nudgedAt = performance.now();
    await kubernetes.patch(`${pods}/${name}`, { metadata: { annotations: { nudged: String(nudgedAt) } } });
  };
  const { pod, said } = await until(
    `${what} on ${node}`,
    look,
    (seen) =>
      seen.pod !== undefined &&
      (come?.(seen.pod) ?? true) &&
      events.every((reason) => seen.said.some((each: Found) => each.reason === reason)),
    120,
  );
  await kubernetes.remove(`${pods}/${name}`);
  const plain = (text: unknown): unknown => (typeof text === "string" ? unmoored(text, pod) : text);
  const [[state, about] = ["none", {}]] = Object.entries<Found>(mainOf(pod)?.state ?? {});
  return {
    phase: pod.status.phase,
    reason: pod.status.reason,
    message: plain(pod.status.message),
    container: [state, about.reason, about.exitCode, plain(about.message)].filter((each) => each !== undefined),
    ...Object.fromEntries(
      events.map((reason) => [
        `event ${reason}`,
        [
          ...new Set(
            said
              .filter((each) => each.reason === reason)
              .map(({ type, message }) => `${type} ${plain(message) as string}`),
          ),
        ].sort(),
      ]),
    ),
  };
}

/** A text without what is of one pod, node or moment. */
function unmoored(text: string, { metadata, spec, status }: Found): string {
  return text
    .replaceAll(metadata.name, "POD")
    .replaceAll(metadata.uid, "UID")
    .replaceAll(spec.nodeName ?? "none", "NODE")
    .replaceAll(status.podIP || "none", "IP")
    .replace(/\b[0-9a-f]{64}\b/g, "ID")
    .replace(/\b(\d+m)?[0-9.]+m?s\b/g, "TIME")
    .replace(/\b\d+ bytes/g, "SIZE");
}
