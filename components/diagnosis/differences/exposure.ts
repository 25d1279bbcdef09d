import { smokeTestNames } from "../../recipe/cluster/smoke-test-names";
import { gpuProviderOf } from "../../recipe/facts/gpu-provider";
import type { Plan } from "../../recipe/types";
import { ownersRemedy } from "../owner";
import type {
  Observations,
  ObservedDaemonSet,
  ObservedDeployment,
  ObservedJob,
  ObservedPod,
} from "../observations";
import { difference, type Difference, lastWords, wordsOfPod } from "./difference";

/**
 * Differences between the GPU provider and the plan: in the RuntimeClass, the namespace, the release and its operands,
 * and the stack's own objects.
 */
export function exposureDifferences(plan: Plan, observations: Observations): Difference[] {
  const { release: plannedRelease, namespace } = plan.kubernetes;
  const namespaces = [...new Set([plannedRelease.namespace, namespace])]; // of the release, and of the stack's other objects
  const remedy = ownersRemedy(plan, observations);
  const withOwnersRemedy = (differences: Difference[]): Difference[] =>
    remedy === undefined
      ? differences
      : differences.map((item) => ({ ...item, remedy: item.remedy ?? remedy }));
  return [
    ...runtimeClass(plan, observations),
    ...namespaceLabels(plan, observations),
    ...release(plan, observations),
    ...requiredDifferences(plan, observations, remedy),
    ...withOwnersRemedy(chartVersion(plan, observations)),
    ...namespaces.flatMap((item) => {
      const unready = unreadyOfNvidia(observations, item);
      return item === namespace ? unready : withOwnersRemedy(unready);
    }),
    ...smokeTests(plan, observations),
  ];
}

function runtimeClass({ kubernetes }: Plan, { runtimeClasses }: Observations): Difference[] {
  const { name, handler } = kubernetes.runtimeClass;
  if (runtimeClasses === undefined || name === "") return [];
  const existing = runtimeClasses.find((candidate) => candidate.name === name);
  const { handler: actualHandler = handler } = existing ?? {};
  const problem =
    existing === undefined
      ? "is not there"
      : actualHandler !== handler && `has the handler ${actualHandler}, the plan says ${handler}`;
  const differences = difference(`RuntimeClass ${name}`, problem);
  if (!kubernetes.external) return differences;
  const owner = kubernetes.by ?? "the tool that installs the GPU provider";
  const remedy = `this stack does not create the RuntimeClass: ${owner} must create it with \`handler: ${handler}\``;
  return differences.map((item) => ({ ...item, remedy }));
}

function namespaceLabels({ kubernetes }: Plan, { namespaces }: Observations): Difference[] {
  const { namespaceLabels: planned, namespace } = kubernetes;
  if (planned === undefined || namespaces === undefined) return [];
  const about = `namespace ${namespace}`;
  const existing = namespaces.find(({ name }) => name === namespace);
  if (existing === undefined) return difference(about, "is not there");
  return Object.entries(planned).flatMap(([key, value]) =>
    difference(about, existing.labels[key] !== value && `lacks the label ${key}=${value}`),
  );
}

/**
 * Differences in Helm's record of the release, e.g. the status `pending-…` that a killed Helm leaves: Helm then refuses
 * the next upgrade. Skips an external release, which may have no record.
 */
function release({ kubernetes }: Plan, { releases }: Observations): Difference[] {
  if (releases === undefined || kubernetes.external) return [];
  const { name, namespace } = kubernetes.release;
  const existing = releases.find(
    (candidate) => candidate.name === name && candidate.namespace === namespace,
  );
  const { status = "not installed", revision } = existing ?? {};
  const inRevision = revision === undefined ? "" : ` in revision ${revision}`;
  const problem =
    existing === undefined ? `is ${status}` : `is ${status}${inRevision}, not deployed`;
  return difference(`Helm release ${namespace}/${name}`, status !== "deployed" && problem);
}

/** A DaemonSet or Deployment that the plan requires. */
interface RequiredObject {
  kind: "DaemonSet" | "Deployment";
  description: string;
  /** Whether the stack itself creates the object; otherwise the GPU provider's chart creates it. */
  isOfStack: boolean;
  matches: (name: string) => boolean;
  /** Smallest correct number of desired pods. */
  minPods: number;
}

/** The DaemonSets and Deployments that the plan requires. The chart may have more. */
function requiredOf({ kubernetes, machines, spec }: Plan): RequiredObject[] {
  const gpuMachines = machines.filter(({ gpuCount }) => gpuCount > 0);
  const machineCount = gpuMachines.length;
  if (machineCount === 0) return [];
  const hasName = (name: string) => (candidate: string) => candidate === name;
  const ofStack = (description: string, name: string, minPods = machineCount): RequiredObject => ({
    kind: "DaemonSet",
    description,
    isOfStack: true,
    matches: hasName(name),
    minPods,
  });
  const operatorDeployment: RequiredObject = {
    kind: "Deployment",
    description: "the GPU Operator",
    isOfStack: false,
    matches: hasName("gpu-operator"),
    minPods: 0,
  };
  const { offers, findsNodes } = gpuProviderOf(kubernetes.mode);
  const limits = new Set(gpuMachines.flatMap(({ powerLimit }) => powerLimit ?? []));
  return [
    ...(kubernetes.mode === "operator" ? [operatorDeployment] : []),
    {
      kind: "DaemonSet",
      description: offers.words,
      isOfStack: false,
      matches: (name) => offers.pods.test(name),
      minPods: machineCount,
    },
    ...(kubernetes.markers.length > 0
      ? [ofStack("the marker files", "nvidia-validation-markers")]
      : []),
    ...[...limits].map((watts) => {
      const limited = gpuMachines.filter(({ powerLimit }) => powerLimit === watts).length;
      return ofStack(`the power limit of ${watts} W`, `nvidia-power-limit-${watts}w`, limited);
    }),
    ...(spec.monitoring !== undefined && !findsNodes
      ? [ofStack("the DCGM exporter", "nvidia-dcgm-exporter")]
      : []),
  ];
}

const requiredDifferences = (
  plan: Plan,
  observations: Observations,
  remedyOfOwner?: string,
): Difference[] =>
  requiredOf(plan).flatMap((object) => {
    const differences = differencesOf(object, plan, observations);
    const remedy = object.isOfStack ? undefined : remedyOfOwner;
    return remedy === undefined
      ? differences
      : differences.map((item) => ({ ...item, remedy: item.remedy ?? remedy }));
  });

/** Differences of a required DaemonSet or Deployment. */
function differencesOf(
  { kind, description, isOfStack, matches, minPods }: RequiredObject,
  plan: Plan,
  observations: Observations,
): Difference[] {
  const { namespace } = isOfStack ? plan.kubernetes : plan.kubernetes.release;
  const objects: (ObservedDaemonSet | ObservedDeployment)[] | undefined =
    kind === "DaemonSet" ? observations.daemonSets : observations.deployments;
  if (objects === undefined) return [];
  // A chart may have one DaemonSet per kind of node, e.g. with MPS.
  const matching = objects.filter(
    (candidate) => candidate.namespace === namespace && matches(candidate.name),
  );
  if (matching.length === 0) {
    const otherNamespace = objects.find(({ name }) => matches(name) && isOfNvidia(name))?.namespace;
    const problem = isOfStack
      ? `is not in namespace ${namespace}`
      : problemOfNamespace(plan, namespace, otherNamespace);
    const missing = difference(`${kind} of ${description}`, problem);
    if (isOfStack || otherNamespace === undefined || !plan.kubernetes.external) return missing;
    const remedy = `write \`external.namespace: ${otherNamespace}\` in the stack's file`;
    return missing.map((item) => ({ ...item, remedy }));
  }
  const desired = matching.reduce((sum, candidate) => sum + (candidate.desired ?? 0), 0);
  if (matching.every((candidate) => candidate.desired === undefined) || desired >= minPods)
    return [];
  const words = matching.flatMap(({ name }) => lastWords(observations, kind, namespace, name));
  const problem = `has ${desired} desired pods, the plan has ${minPods} GPU machine${minPods === 1 ? "" : "s"}`;
  return difference(`${kind} ${namespace}/${matching[0]!.name}`, problem, words);
}

/** Whether an object belongs to NVIDIA's software, judged by its name, since other vendors have device plugins too. */
const isOfNvidia = (name: string): boolean => /nvidia|nvdp|gpu-operator|^dra-driver/.test(name);

/** Message about an object that is missing from the planned namespace. */
function problemOfNamespace(
  { kubernetes }: Plan,
  namespace: string,
  elsewhere: string | undefined,
): string {
  if (elsewhere === undefined)
    return kubernetes.assumesNamespace
      ? "is in no namespace of the cluster"
      : `is not in namespace ${namespace}`;
  return `is in namespace ${elsewhere}, the plan says ${namespace}`;
}

/**
 * Difference in the chart's version, from the label `helm.sh/chart: <name>-<version>` of the chart's objects. Skips
 * objects without that label.
 */
function chartVersion({ kubernetes }: Plan, observations: Observations): Difference[] {
  const { namespace, chart, version } = kubernetes.release;
  if (version === "") return [];
  const planned = `${chart}-${version.replace(/^v/, "")}`;
  const otherCharts = [...(observations.daemonSets ?? []), ...(observations.deployments ?? [])]
    .filter((object) => object.namespace === namespace)
    .flatMap(({ labels }) => labels?.["helm.sh/chart"]?.replace(`${chart}-v`, `${chart}-`) ?? [])
    .filter((label) => new RegExp(`^${chart}-[0-9]`).test(label) && label !== planned);
  const about = `${kubernetes.external ? chart : "Helm release"} ${namespace}/${kubernetes.release.name}`;
  return [...new Set(otherCharts)].flatMap((label) =>
    difference(about, `has the chart ${label}, the plan says ${planned}`),
  );
}

/**
 * DaemonSets, Deployments and bare pods of a namespace that are not ready. In `kube-system`, which other programs
 * share, only objects with a name of NVIDIA's software or of Node Feature Discovery.
 */
export function unreadyOfNvidia(observations: Observations, namespace: string): Difference[] {
  const nvidiaNames = /nvidia|gpu|dcgm|node-feature-discovery/;
  const inNamespace = <T extends { namespace: string; name: string }>(objects: T[] = []): T[] =>
    objects.filter(
      (object) =>
        object.namespace === namespace &&
        (namespace !== "kube-system" || nvidiaNames.test(object.name)),
    );
  return [
    ...inNamespace(observations.daemonSets).flatMap((set) =>
      unready(observations, "DaemonSet", set),
    ),
    ...inNamespace(observations.deployments).flatMap((deployment) =>
      unready(observations, "Deployment", deployment),
    ),
    ...inNamespace(observations.pods)
      .filter(
        ({ owner, labels }) =>
          owner === undefined && labels?.["app.kubernetes.io/managed-by"] !== "talos-gpu",
      )
      .filter((pod) => !isWell(pod))
      .flatMap((pod) => difference(`Pod ${namespace}/${pod.name}`, "not ready", wordsOfPod(pod))),
  ];
}

/** Whether a pod is healthy. If its containers were not observed, only its phase counts. */
export const isWell = ({ phase, containers = [] }: ObservedPod): boolean =>
  phase === "Succeeded" ||
  (phase === "Running" && containers.every(({ ready }) => ready !== false));

/**
 * Difference of a DaemonSet or Deployment that has too few ready pods, or whose controller has not processed its last
 * change.
 */
export function unready(
  observations: Observations,
  kind: "DaemonSet" | "Deployment",
  { namespace, name, desired, ready, outdated }: ObservedDaemonSet | ObservedDeployment,
): Difference[] {
  if (desired === undefined || ready === undefined || (ready >= desired && !outdated)) return [];
  const problem = outdated
    ? "not ready: its controller has not processed the last change"
    : `not ready: ${ready} of ${desired} pods`;
  return difference(
    `${kind} ${namespace}/${name}`,
    problem,
    lastWords(observations, kind, namespace, name),
  );
}

/** Smoke tests of GPU machines that are missing or have not passed. */
function smokeTests({ machines, kubernetes }: Plan, observations: Observations): Difference[] {
  const { namespace } = kubernetes;
  if (observations.jobs === undefined) return [];
  const names = smokeTestNames(
    machines.filter(({ gpuCount }) => gpuCount > 0).map(({ name }) => name),
  );
  return [...names].flatMap(([machine, prefix]) => {
    const tests = newest(
      observations.jobs!.filter((job) => job.namespace === namespace && isTestOf(job.name, prefix)),
    );
    if (tests.length === 0)
      return difference(`Job of the smoke test of ${machine}`, `is not in namespace ${namespace}`);
    const isDecided = tests.some(
      ({ succeeded, untested }) => succeeded === undefined || succeeded > 0 || untested,
    );
    if (isDecided) return [];
    const words = tests.flatMap((test) => lastWords(observations, "Job", namespace, test.name));
    return difference(`Job ${namespace}/${tests[0]!.name}`, "the smoke test has not passed", words);
  });
}

/**
 * The newest Jobs. If an update fails while it waits for the smoke tests, its Job and the passed Job of the previous
 * update both exist.
 */
function newest(jobs: ObservedJob[]): ObservedJob[] {
  const last = jobs.reduce((latest, { created = "" }) => (created > latest ? created : latest), "");
  return jobs.filter(({ created = "" }) => created === last);
}

/**
 * Whether a Job is the smoke test with this prefix. After the prefix, the name has a hash of the component's name and
 * Pulumi's random digits (components/kubernetes/pods.ts, ownedName).
 */
const isTestOf = (job: string, prefix: string): boolean =>
  job.startsWith(prefix) && /^-[0-9a-f]{6}-[0-9a-f]{8}$/.test(job.slice(prefix.length));
