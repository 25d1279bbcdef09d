import type { V1Job, V1Pod } from "@kubernetes/client-node";
import { formatDuration, parseDuration } from "../../recipe/rules/duration";
import { LimitReached, waitFor, type Clock } from "../../clients/clock";
import { Failure, type FieldFinding } from "../../clients/failure";
import type { Report } from "../progress";
import { type GateResult, type GateTask, UNTESTED } from "../task";
import { isDeviceClass, type GpuProvider, gpuProviders } from "../../recipe/facts/gpu-provider";
import type { Cluster } from "../cluster/cluster";
import { isReady, podWords, schedulerWords, sightOf } from "./pod-words";
import { allInUse, namesOf, unitsOf } from "./units";

type Test = GateTask["tests"][number];

/** The calls to a cluster that the gate needs. */
export type TestedCluster = Pick<
  Cluster,
  | "jobs"
  | "podsOfJob"
  | "warningsOfJob"
  | "node"
  | "podsOn"
  | "claimed"
  | "suspend"
  | "remove"
  | "makeAnew"
>;

/**
 * Waits for the smoke test of every machine. A test uses a free unit and evicts no pod. If running pods use all units
 * for as long as `patience`, the gate gives the test up. It records the machine as untested, with the pods' names. This
 * is no failure: running pods show that the machine gives its cards to pods, and an update of a busy cluster would
 * otherwise never end. The gate replaces a test that an earlier run left failed or given up.
 *
 * @throws Failure with every test that failed or did not pass within the limit: the state of its pods, the units that
 * the node offers, the pods that use them, and the state of the device plugin.
 */
export async function awaitTests(
  task: GateTask,
  cluster: TestedCluster,
  clock: Clock,
  report: Report,
): Promise<GateResult> {
  const { namespace } = task;
  const [limit, patience] = [parseDuration(task.limit), parseDuration(task.patience)];
  /** How long a test waits for a free unit. A test that must pass is never given up: it fails at the limit. */
  const forAUnit = task.mustPass ? limit : patience;
  const result: GateResult = { passed: [], untested: {} };
  const failed: FieldFinding[] = [];
  const busySince = new Map<string, number>();
  const passedSince = new Map<string, number>();
  const lastLines = new Map<string, string>();
  let left = [...task.tests];

  const say = (machine: string, line: string): void => {
    if (lastLines.get(machine) !== line) report(`${machine}: ${line}`);
    lastLines.set(machine, line);
  };

  /** Tests that an earlier run left failed or given up, until they are replaced. */
  const earlier = new Map<string, V1Job>();
  for (const job of await cluster.jobs(namespace)) {
    const name = job.metadata?.name ?? "";
    if (
      !task.tests.some((test) => test.job === name) ||
      !(has(job, "Failed") || job.spec?.suspend === true)
    )
      continue;
    await cluster.remove(job);
    earlier.set(name, job);
  }

  /** Checks one test; true when it has ended. */
  const look = async (test: Test, job: V1Job | undefined): Promise<boolean> => {
    const { machine, resource } = test;
    const before = earlier.get(test.job);
    if (before !== undefined) {
      if (await cluster.makeAnew(before)) earlier.delete(test.job);
      return false;
    }
    if (has(job, "Complete")) {
      if (!(await offers(test))) return false;
      result.passed.push(machine);
      return true;
    }
    if (has(job, "Failed")) {
      failed.push(
        await explained(test, `failed: ${condition(job, "Failed")?.message ?? "no reason given"}`),
      );
      return true;
    }
    const givenUp = job?.spec?.suspend === true ? job.metadata?.annotations?.[UNTESTED] : undefined;
    if (givenUp !== undefined) {
      // Given up by this run, whose call succeeded although its answer was lost. Tests of an earlier run are replaced
      // above.
      result.untested[machine] = givenUp;
      say(machine, notTested(givenUp));
      return true;
    }
    const pods = await cluster.podsOfJob(namespace, test.job);
    const waiting = pods.map(schedulerWords);
    const { users, plugin, ...units } = await seen(test);
    const busy = waiting.some((words) =>
      words.includes(isDeviceClass(resource) ? cannotAllocate : `Insufficient ${resource}`),
    );
    if (!busy || !allInUse({ users, ...units }) || !plugin.every(isReady)) {
      busySince.delete(machine);
      const sees = await stateOf(test, pods, units.allocatable ?? 0, plugin);
      if (sees !== undefined) say(machine, sees);
      return false;
    }
    const since = busySince.get(machine) ?? clock.now();
    busySince.set(machine, since);
    const inUse = `all ${units.allocatable ?? 0} units of ${resource} are in use by ${namesOf(users)}`;
    say(machine, `its smoke test waits up to ${formatDuration(forAUnit)} for a free GPU: ${inUse}`);
    if (task.mustPass || clock.now() - since < patience) return false;
    await cluster.suspend(namespace, test.job, inUse);
    result.untested[machine] = inUse;
    say(machine, notTested(inUse));
    return true;
  };

  /**
   * Whether the node offers the planned units, for the pods that start after the gate. The kubelet reports a changed
   * number only at its next sync, up to ten seconds later. A pod that is scheduled by the old number ends with
   * UnexpectedAdmissionError, and nothing creates a bare pod again. The wait has a limit, because `doctor` reports a
   * missing card.
   */
  const offers = async ({ machine, job, resource, units }: Test): Promise<boolean> => {
    const passed = `its smoke test passed${sightOf(await cluster.podsOfJob(namespace, job))}`;
    const { allocatable = 0 } = unitsOf(
      resource,
      await cluster.node(machine, isDeviceClass(resource)),
      [],
    );
    const since = passedSince.get(machine) ?? clock.now();
    passedSince.set(machine, since);
    const late = clock.now() - since >= patience;
    if (units === undefined || units === allocatable) {
      say(machine, passed);
      return true;
    }
    const differs = `the node offers ${allocatable} of ${resource}, but the plan expects ${units}`;
    const waits = late ? "" : `; the gate waits up to ${formatDuration(patience)} for that number`;
    say(machine, `${passed}; ${differs}${waits}`);
    return late;
  };

  const seen = async ({ machine, resource }: Test) => {
    const [node, pods, claimed] = await Promise.all([
      cluster.node(machine, isDeviceClass(resource)),
      cluster.podsOn(machine),
      isDeviceClass(resource) ? cluster.claimed(machine, resource) : {},
    ]);
    const { pods: named } = offersOf(resource);
    // The namespace of an external release is unknown here, so its image tells it from other makers' plugins.
    const plugin = pods.filter(
      ({ metadata, spec }) =>
        named.test(metadata?.name ?? "") &&
        (metadata?.namespace === namespace ||
          spec?.containers.some(({ image }) => ofNvidia.test(image ?? ""))),
    );
    return { ...unitsOf(resource, node, pods, claimed), plugin };
  };

  /** Why a test has not ended yet; undefined if Kubernetes gives no reason. */
  const stateOf = async (
    test: Test,
    pods: V1Pod[],
    offered: number,
    plugin: V1Pod[],
  ): Promise<string | undefined> => {
    if (pods.length === 0) {
      const refusal = await refusalOf(test);
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
  };

  /** Why Kubernetes creates no pod for a test; undefined if it gives no reason. */
  const refusalOf = async ({ job }: Test): Promise<string | undefined> => {
    // The reason only explains: the gate waits for the test without it as well.
    const last = (await cluster.warningsOfJob(namespace, job).catch(() => [])).at(-1);
    // Without the pod's name, which is new in each attempt, repeated reasons are equal.
    return (
      last &&
      `Kubernetes refuses its pod: ${last.replace(/^Error creating: (?:pods "[^"]*" is forbidden: )?/, "")}`
    );
  };

  const explained = async (test: Test, outcome: string): Promise<FieldFinding> => {
    const { machine, job, resource } = test;
    const pods = await cluster.podsOfJob(namespace, job);
    const { allocatable, users, plugin } = await seen(test);
    const others = users.filter(
      ({ pod }) => !pods.some(({ metadata }) => metadata?.uid === pod.metadata?.uid),
    );
    const refusal = pods.length === 0 ? await refusalOf(test) : undefined;
    const facts = [
      ...(refusal === undefined ? [] : [refusal]),
      ...pods.map(podWords).filter((words) => words !== ""),
      `the node offers ${allocatable ?? 0} of ${resource}`,
      others.length === 0 ? "no other pod uses it" : `in use by ${namesOf(others)}`,
      ...pluginWords(plugin, resource),
    ];
    return {
      field: `machines.${machine}`,
      problem: `its smoke test (Job ${namespace}/${job}) ${outcome} (${facts.join(", ")})`,
      why: task.mustPass
        ? "upgrade.first lists this machine, so no other worker is updated before its smoke test has passed"
        : "no workload may use a GPU before a smoke test has passed on it",
      remedy: `${task.mustPass && others.length > 0 ? "free a GPU on the machine, or " : ""}fix the cause in parentheses (\`npx talos-gpu doctor\` shows more), then run the update again`,
    };
  };

  const names = left.map(({ machine }) => machine).join(", ");
  report(
    `waits up to ${formatDuration(limit)} for the smoke test${left.length === 1 ? "" : "s"} of ${names}`,
  );
  try {
    await waitFor<true>(clock, {
      what: "the smoke tests",
      limit,
      poll: task.pollSeconds * 1_000,
      look: async () => {
        const jobs = await cluster.jobs(namespace);
        for (const test of left) {
          const job = jobs.find(({ metadata }) => metadata?.name === test.job);
          if (await look(test, job)) left = left.filter((other) => other !== test);
        }
        return left.length === 0
          ? { done: true }
          : { not: left.map(({ machine }) => machine).join(", ") };
      },
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    const jobs = await cluster.jobs(namespace);
    for (const test of left) {
      const gone = !jobs.some(({ metadata }) => metadata?.name === test.job);
      const outcome = gone
        ? "no longer exists: run the update with --refresh"
        : `did not pass within ${formatDuration(limit)}`;
      failed.push(await explained(test, outcome));
    }
  }
  if (failed.length > 0) throw new Failure(...failed);
  return result;
}

/**
 * The scheduler's message if no claim can be met (kubernetes v1.36.3,
 * pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, Filter).
 */
const cannotAllocate = "cannot allocate all claims";

/** Matches images of NVIDIA's device plugin and DRA driver, also in a mirror. */
const ofNvidia = /k8s-device-plugin|k8s-dra-driver-gpu|dra-driver-nvidia-gpu/;

/** The controllers that must have a pod on the machine before other pods can get its cards. */
const offersOf = (resource: string): GpuProvider["offers"] =>
  (isDeviceClass(resource) ? gpuProviders.dra : gpuProviders.devicePlugin).offers;

const notTested = (why: string): string => `not tested: ${why}; a smoke test never evicts pods`;

function pluginWords(plugin: V1Pod[], resource: string): string[] {
  if (plugin.length === 0) return [`no pod of ${offersOf(resource).words} is on the node`];
  return plugin.map(
    (pod) =>
      podWords(pod) ||
      `Pod ${pod.metadata?.name ?? ""}: ${isReady(pod) ? "ready" : (pod.status?.phase ?? "unknown")}`,
  );
}

const condition = (job: V1Job | undefined, type: string) =>
  job?.status?.conditions?.find((each) => each.type === type && each.status === "True");

const has = (job: V1Job | undefined, type: string): boolean => condition(job, type) !== undefined;
