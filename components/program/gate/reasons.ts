import { isCordonedByUs, uncordonCommand } from "../cluster/cordon-mark";
import type { V1Pod } from "@kubernetes/client-node";
import type { FieldFinding } from "../../clients/failure";
import { isDeviceClass, type GpuProvider, gpuProviders } from "../../recipe/facts/gpu-provider";
import type { Cluster } from "../cluster/cluster";
import type { GateTask } from "../task";
import { isReady, podWords, schedulerWords } from "./pod-words";
import { namesOf, unitsOf } from "./units";

// Why a smoke test has not passed yet, or has failed: the state of its pods, the units that the node offers, the pods that use them, and
// the state of the GPU provider.

type Test = GateTask["tests"][number];

/** The namespace of the tests, and the calls to its cluster. */
export interface Place {
  cluster: Pick<Cluster, "podsOfJob" | "warningsOfJob" | "node" | "podsOn" | "claimed">;
  namespace: string;
}

/** The units of a machine's GPUs, the pods that use them, and the pods of the GPU provider on the machine. */
export async function unitsAndPlugin({ cluster, namespace }: Place, { machine, resource }: Test) {
  const [node, pods, claimed] = await Promise.all([
    cluster.node(machine, isDeviceClass(resource)),
    cluster.podsOn(machine),
    isDeviceClass(resource) ? cluster.claimed(machine, resource) : {},
  ]);
  const { pods: pluginName } = offersOf(resource);
  // The namespace of an external release is unknown here. There the image distinguishes NVIDIA's plugin from those of
  // other makers.
  const plugin = pods.filter(
    ({ metadata, spec }) =>
      pluginName.test(metadata?.name ?? "") &&
      (metadata?.namespace === namespace ||
        spec?.containers.some(({ image }) => ofNvidia.test(image ?? ""))),
  );
  return { ...unitsOf(resource, node, pods, claimed), plugin };
}

/** Why a test has not ended yet; undefined if Kubernetes gives no reason. */
export async function describeProgress(
  place: Place,
  test: Test,
  pods: V1Pod[],
  offered: number,
  plugin: V1Pod[],
): Promise<string | undefined> {
  if (pods.length === 0) {
    const refusal = await refusalOf(place, test);
    return refusal && `its smoke test waits: ${refusal}`;
  }
  const words = pods.map(podWords).filter((text) => text !== "");
  if (words.length === 0)
    return pods.some(({ status }) => status?.phase === "Running")
      ? "its smoke test runs"
      : "its smoke test's pod starts";
  const isUnplaced = pods.some((pod) => schedulerWords(pod) !== "");
  const offer = isUnplaced
    ? [`the node offers ${offered} of ${test.resource}`, ...pluginWords(plugin, test.resource)]
    : [];
  return `its smoke test waits: ${[...words, ...offer].join("; ")}`;
}

/** Why Kubernetes creates no pod for a test; undefined if it gives no reason. */
async function refusalOf(
  { cluster, namespace }: Place,
  { job }: Test,
): Promise<string | undefined> {
  // The reason only explains: the gate waits for the test without it as well.
  const lastWarning = (await cluster.warningsOfJob(namespace, job).catch(() => [])).at(-1);
  // Without the pod's name, which is new in each attempt, repeated reasons are equal.
  return (
    lastWarning &&
    `Kubernetes refuses its pod: ${lastWarning.replace(/^Error creating: (?:pods "[^"]*" is forbidden: )?/, "")}`
  );
}

/**
 * Finding about a test that did not pass.
 *
 * @param mustPass whether the update may not continue without this test.
 * @param isGone whether the test's Job no longer exists.
 */
export async function failureOf(
  place: Place,
  test: Test,
  outcome: string,
  { mustPass, isGone = false }: { mustPass: boolean; isGone?: boolean },
): Promise<FieldFinding> {
  const { cluster, namespace } = place;
  const { machine, job, resource } = test;
  const pods = await cluster.podsOfJob(namespace, job);
  const { allocatable, users, plugin } = await unitsAndPlugin(place, test);
  const otherUsers = users.filter(
    ({ pod }) => !pods.some(({ metadata }) => metadata?.uid === pod.metadata?.uid),
  );
  const refusal = pods.length === 0 ? await refusalOf(place, test) : undefined;
  const isCordoned = mustPass && isCordonedByUs(await cluster.node(machine));
  const facts = [
    ...(refusal === undefined ? [] : [refusal]),
    ...pods.map(podWords).filter((words) => words !== ""),
    `the node offers ${allocatable ?? 0} of ${resource}`,
    otherUsers.length === 0 ? "no other pod uses it" : `in use by ${namesOf(otherUsers)}`,
    ...pluginWords(plugin, resource),
  ];
  return {
    field: `machines.${machine}`,
    problem: `its smoke test (Job ${namespace}/${job}) ${outcome} (${facts.join(", ")})`,
    why: mustPass
      ? "upgrade.first lists this machine, so the other workers are updated only after a smoke test has passed on it" +
        (isCordoned ? ", and its node stays cordoned until then" : "")
      : "no workload may use a GPU before a smoke test has passed on it",
    remedy: isGone
      ? "run the update again with `--refresh`, which creates the Job again"
      : `${mustPass && otherUsers.length > 0 ? "free a GPU on the machine, or " : ""}fix the cause in parentheses (\`npx talos-gpu doctor\` shows more), then run the update again${isCordoned ? `. To give the node to pods without a test, run \`${uncordonCommand(machine)}\`` : ""}`,
  };
}

/** Matches images of NVIDIA's device plugin and DRA driver, also in a mirror. */
const ofNvidia = /k8s-device-plugin|k8s-dra-driver-gpu|dra-driver-nvidia-gpu/;

/** The controllers that must have a pod on the machine before other pods can get its cards. */
const offersOf = (resource: string): GpuProvider["offers"] =>
  (isDeviceClass(resource) ? gpuProviders.dra : gpuProviders.devicePlugin).offers;

function pluginWords(plugin: V1Pod[], resource: string): string[] {
  if (plugin.length === 0) return [`no pod of ${offersOf(resource).words} is on the node`];
  return plugin.map(
    (pod) =>
      podWords(pod) ||
      `Pod ${pod.metadata?.name ?? ""}: ${isReady(pod) ? "ready" : (pod.status?.phase ?? "unknown")}`,
  );
}
