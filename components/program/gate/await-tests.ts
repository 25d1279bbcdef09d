import type { V1Job } from "@kubernetes/client-node";
import { formatDuration, parseDuration } from "../../recipe/rules/duration";
import { LimitReached, waitFor, type Clock } from "../../clients/clock";
import { Failure, type FieldFinding } from "../../clients/failure";
import type { Report } from "../progress";
import { type GateResult, type GateTask, UNTESTED } from "../task";
import { isDeviceClass } from "../../recipe/facts/gpu-provider";
import type { Cluster } from "../cluster/cluster";
import { CORDONED_BY } from "../cluster/cordon-mark";
import { isReady, schedulerWords, onlookerOutput } from "./pod-words";
import { describeProgress, failureOf, unitsAndPlugin } from "./reasons";
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
  | "uncordon"
>;

/**
 * Waits for the smoke test of every machine of the task. A test requests one GPU resource unit (card, slice or MIG
 * device) and evicts no pod. If running pods use all units for as long as `patience`, the gate gives up the test. It
 * records the machine as untested, with the pods' names. This is no failure, because the running pods show that the
 * machine gives its cards to pods. If the gate waited for these pods to end, an update of a busy cluster would never
 * end. The gate repeats a test that failed in an earlier run, or that an earlier run gave up. The tests
 * also run on a cordoned node. After a test that must pass, the gate uncordons the node that its upgrade left cordoned.
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
  const { namespace, mustPass = false } = task;
  const place = { cluster, namespace };
  const [limit, patience] = [parseDuration(task.limit), parseDuration(task.patience)];
  /**
   * How long a test waits for a free unit. The gate never gives up a test that must pass; such a test fails at the
   * limit.
   */
  const unitWaitLimit = mustPass ? limit : patience;
  const result: GateResult = { passed: [], untested: {} };
  if (task.tests.length === 0) {
    report("no smoke test to wait for: every GPU machine is away");
    return result;
  }
  const failed: FieldFinding[] = [];
  const busySince = new Map<string, number>();
  const passedSince = new Map<string, number>();
  const lastLines = new Map<string, string>();
  let openTests = [...task.tests];

  const reportChange = (machine: string, line: string): void => {
    if (lastLines.get(machine) !== line) report(`${machine}: ${line}`);
    lastLines.set(machine, line);
  };

  /**
   * Deleted Jobs of tests that failed in an earlier run, or that an earlier run gave up, until new Jobs replace them.
   */
  const endedJobs = new Map<string, V1Job>();
  for (const job of await cluster.jobs(namespace)) {
    const name = job.metadata?.name ?? "";
    if (
      !task.tests.some((test) => test.job === name) ||
      !(hasCondition(job, "Failed") || job.spec?.suspend === true)
    )
      continue;
    await cluster.remove(job);
    endedJobs.set(name, job);
  }

  /** Checks one test; true when it has ended. */
  const isTestDone = async (test: Test, job: V1Job | undefined): Promise<boolean> => {
    const { machine, resource } = test;
    const endedJob = endedJobs.get(test.job);
    if (endedJob !== undefined) {
      if (await cluster.makeAnew(endedJob)) endedJobs.delete(test.job);
      return false;
    }
    if (hasCondition(job, "Complete")) {
      if (!(await offersAllUnits(test))) return false;
      if (mustPass) await uncordonNode(machine);
      result.passed.push(machine);
      return true;
    }
    if (hasCondition(job, "Failed")) {
      failed.push(
        await failureOf(
          place,
          test,
          `failed: ${condition(job, "Failed")?.message ?? "no reason given"}`,
          { mustPass },
        ),
      );
      return true;
    }
    const untestedReason =
      job?.spec?.suspend === true ? job.metadata?.annotations?.[UNTESTED] : undefined;
    if (untestedReason !== undefined) {
      // This run gave the test up, and the answer to its call was lost. Tests that an earlier run gave up are replaced
      // above.
      result.untested[machine] = untestedReason;
      reportChange(machine, notTestedText(untestedReason));
      return true;
    }
    const pods = await cluster.podsOfJob(namespace, test.job);
    const waiting = pods.map(schedulerWords);
    const { users, plugin, ...units } = await unitsAndPlugin(place, test);
    const lacksUnits = waiting.some((words) =>
      words.includes(isDeviceClass(resource) ? cannotAllocate : `Insufficient ${resource}`),
    );
    if (!lacksUnits || !allInUse({ users, ...units }) || !plugin.every(isReady)) {
      busySince.delete(machine);
      const progressText = await describeProgress(
        place,
        test,
        pods,
        units.allocatable ?? 0,
        plugin,
      );
      if (progressText !== undefined) reportChange(machine, progressText);
      return false;
    }
    const busyStart = busySince.get(machine) ?? clock.now();
    busySince.set(machine, busyStart);
    const reason = `all ${units.allocatable ?? 0} units of ${resource} are in use by ${namesOf(users)}`;
    reportChange(
      machine,
      `its smoke test waits up to ${formatDuration(unitWaitLimit)} for a free GPU: ${reason}`,
    );
    if (mustPass || clock.now() - busyStart < patience) return false;
    await cluster.suspend(namespace, test.job, reason);
    result.untested[machine] = reason;
    reportChange(machine, notTestedText(reason));
    return true;
  };

  /**
   * Makes a node schedulable that its upgrade has left cordoned until the test. The gate runs after these upgrades, so
   * no upgrade still needs the node cordoned. If a user has uncordoned the node, only the annotation is left.
   */
  const uncordonNode = async (machine: string): Promise<void> => {
    const node = await cluster.node(machine);
    if (node?.annotations[CORDONED_BY] === undefined) return;
    await cluster.uncordon(machine, CORDONED_BY);
    if (node.unschedulable) report(`${machine}: node ${machine} is schedulable again`);
  };

  /**
   * Whether the node offers the planned number of units, or the gate has waited for this number for as long as
   * `patience`. The pods that start after the gate need the right number. The kubelet reports a changed number only at
   * its next sync, up to ten seconds later. If the scheduler uses the old number, a pod ends with
   * UnexpectedAdmissionError, and nothing creates a bare pod again. After `patience` the gate accepts any number, and
   * `doctor` reports a missing card.
   */
  const offersAllUnits = async ({ machine, job, resource, units }: Test): Promise<boolean> => {
    const passedText = `its smoke test passed${onlookerOutput(await cluster.podsOfJob(namespace, job))}`;
    const { allocatable = 0 } = unitsOf(
      resource,
      await cluster.node(machine, isDeviceClass(resource)),
      [],
    );
    const passedStart = passedSince.get(machine) ?? clock.now();
    passedSince.set(machine, passedStart);
    const isOverdue = clock.now() - passedStart >= patience;
    if (units === undefined || units === allocatable) {
      reportChange(machine, passedText);
      return true;
    }
    const differenceText = `the node offers ${allocatable} of ${resource}, but the plan expects ${units}`;
    const waitText = isOverdue
      ? ""
      : `; the update waits up to ${formatDuration(patience)} for ${units}`;
    reportChange(machine, `${passedText}; ${differenceText}${waitText}`);
    return isOverdue;
  };

  const names = openTests.map(({ machine }) => machine).join(", ");
  report(
    `waits up to ${formatDuration(limit)} for the smoke test${openTests.length === 1 ? "" : "s"} of ${names}`,
  );
  try {
    await waitFor<true>(clock, {
      subject: "the smoke tests",
      limit,
      poll: task.pollSeconds * 1_000,
      look: async () => {
        const jobs = await cluster.jobs(namespace);
        for (const test of openTests) {
          const job = jobs.find(({ metadata }) => metadata?.name === test.job);
          if (await isTestDone(test, job))
            openTests = openTests.filter((otherTest) => otherTest !== test);
        }
        return openTests.length === 0
          ? { done: true }
          : { not: openTests.map(({ machine }) => machine).join(", ") };
      },
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    const jobs = await cluster.jobs(namespace);
    for (const test of openTests) {
      const isGone = !jobs.some(({ metadata }) => metadata?.name === test.job);
      const outcome = isGone ? "no longer exists" : `did not pass within ${formatDuration(limit)}`;
      failed.push(await failureOf(place, test, outcome, { mustPass, isGone }));
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

const notTestedText = (why: string): string => `not tested: ${why}; a smoke test never evicts pods`;

const condition = (job: V1Job | undefined, type: string) =>
  job?.status?.conditions?.find(
    (candidate) => candidate.type === type && candidate.status === "True",
  );

const hasCondition = (job: V1Job | undefined, type: string): boolean =>
  condition(job, type) !== undefined;
