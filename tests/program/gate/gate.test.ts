import { awaitTests, type TestedCluster } from "../../../components/program/gate/await-tests";
import type { GateTask } from "../../../components/program/task";
import { FakeClock } from "../fakes";
import { errorMessageOf } from "../setup";

const GPU = "nvidia.com/gpu";
const CLASS = "gpu.nvidia.com";
/** Message of kube-scheduler v1.36 on a pod for which there is no free unit, and for which it evicts none. */
const INSUFFICIENT =
  `0/1 nodes are available: 1 Insufficient ${GPU}. ` +
  "preemption: not eligible due to preemptionPolicy=Never.";

/** Some status of a pod or its container, in Kubernetes' form. */
type Status = Record<string, any>;
type Pod = Record<string, any>;

/** A pod that uses this many GPUs. Default: it runs. */
const pod = (name: string, units: number, status: Status = runningStatus): Pod => ({
  metadata: { name, namespace: name.includes("device-plugin") ? "gpu" : "default", uid: name },
  spec: {
    containers: [
      { name: "main", resources: units > 0 ? { limits: { [GPU]: String(units) } } : {} },
    ],
  },
  status,
});
const runningStatus = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
/** A pod whose init container requests as many GPUs as its container. */
function podWithInit(name: string, units: number): Pod {
  const { spec, ...otherFields } = pod(name, units);
  return { ...otherFields, spec: { ...spec, initContainers: spec.containers } };
}
/** A pod that uses a card through a claim. */
const podWithClaim = (name: string): Pod => ({
  ...pod(name, 0),
  spec: { containers: [{ name: "main", resources: { claims: [{ name: "gpus" }] } }] },
});
const pendingStatus = (message: string): Status => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", message }],
});
const TEST_POD = "gpu-smoke-test-gpu-1-abc";
const plugin = pod("nvidia-device-plugin-x", 0);
const unscheduledPod = pod(TEST_POD, 1, pendingStatus(INSUFFICIENT));

/** State of a smoke test's Job: it has ended, or an earlier run has suspended it. */
type JobState = "complete" | "failed" | "suspended";

/** A machine's node, its pods, and a smoke test whose Job has these conditions. */
class FakeCluster implements TestedCluster {
  conditions: Status[] = [];
  suspended: string[] = [];
  /** Units that the node offers. */
  allocatable: Record<string, string> = { [GPU]: "2" };
  /** Pods of the smoke test. */
  testPods: Pod[] = [unscheduledPod];
  /** Pods on the node. */
  pods: Pod[] = [plugin];

  isSuspended = false;
  /** How often the program tried to create the Job again. */
  timesCreated = 0;
  warnings: string[] = [];
  jobs = async () => {
    const job = {
      metadata: { name: "test-1" },
      spec: { suspend: this.isSuspended },
      status: { conditions: this.conditions },
    };
    return [job] as any;
  };
  remove = async (): Promise<void> => {};
  /** The API server deletes the old Job only at the second look. */
  makeAnew = async (): Promise<boolean> => {
    this.timesCreated++;
    if (this.timesCreated < 2) return false;
    this.conditions = [];
    this.isSuspended = false;
    return true;
  };
  podsOfJob = async () => this.testPods as any;
  warningsOfJob = async (): Promise<string[]> => this.warnings;
  /** Whether the node is cordoned, and by whose annotation. */
  cordon: { unschedulable: boolean; annotations: Record<string, string> } = {
    unschedulable: false,
    annotations: {},
  };
  node = async () => ({ allocatable: this.allocatable, ...this.cordon }) as any;
  uncordon = async (): Promise<void> => {
    this.cordon = { unschedulable: false, annotations: {} };
  };
  podsOn = async () => this.pods as any;
  /** Each pod except the driver's, which is the first, has one claimed card. */
  claimed = async () =>
    Object.fromEntries(this.pods.slice(1).map(({ metadata }) => [metadata["uid"] as string, 1]));
  suspend = async (_namespace: string, job: string, reason: string): Promise<void> => {
    this.suspended.push(`${job}: ${reason}`);
  };
  /** Sets the state of the Job. */
  setJobState(job: JobState): void {
    const message = "Job has reached the specified backoff limit";
    if (job === "complete") this.conditions = [{ type: "Complete", status: "True" }];
    else if (job === "failed") this.conditions = [{ type: "Failed", status: "True", message }];
    else this.isSuspended = true;
  }
}

const task = {
  namespace: "gpu",
  tests: [{ machine: "gpu-1", job: "test-1", resource: GPU }],
  limit: "10m",
  patience: "1m",
  pollSeconds: 1,
};

/** A wait for the smoke test of gpu-1, and its expected result. */
interface GateRun {
  /** Fields of the cluster. Default: the node offers two units, nothing uses them, and the test gets none. */
  cluster?: Partial<FakeCluster>;
  /** State of the test's Job at the beginning. Default: it has not ended. */
  job?: JobState;
  /** Fields of the task's only test. */
  test?: Partial<GateTask["tests"][number]>;
  /** Set if further machines wait for this test, so that it must pass. */
  mustPass?: true;
  /** Changes after this many seconds. */
  events?: { atSecond: number; cluster?: Partial<FakeCluster>; job?: JobState }[];
  expect: (
    { passed: true } | { untested: string } | { error: [string | RegExp, ...(string | RegExp)[]] }
  ) & {
    /** Lines of progress after the first. */
    logs?: string[];
    /** A part of the second line of progress. */
    secondLog?: string;
    /** Duration in seconds. */
    seconds?: number | { atLeast: number; lessThan: number };
    /** How often its Job was created again. */
    jobsMade?: number;
    /** Whether the node is cordoned at the end. Default false. */
    isCordoned?: boolean;
    /** Annotations of the node at the end. */
    annotations?: Record<string, string>;
  };
}

async function runGate(run: GateRun): Promise<void> {
  const cluster = Object.assign(new FakeCluster(), run.cluster);
  const clock = new FakeClock();
  const lines: string[] = [];
  if (run.job) cluster.setJobState(run.job);
  for (const event of run.events ?? [])
    clock.after(event.atSecond, () => {
      Object.assign(cluster, event.cluster);
      if (event.job) cluster.setJobState(event.job);
    });
  const tests = task.tests.map((test) => ({ ...test, ...run.test }));
  const gateTask: GateTask = { ...task, tests };
  if (run.mustPass) gateTask.mustPass = true;
  const result = awaitTests(gateTask, cluster, clock, (line) => lines.push(line));

  const { expect: expected } = run;
  if ("error" in expected) {
    const message = await errorMessageOf(result);
    for (const part of expected.error)
      expect(message).toEqual(
        typeof part === "string" ? expect.stringContaining(part) : expect.stringMatching(part),
      );
  } else if ("passed" in expected)
    expect(await result).toEqual({ passed: ["gpu-1"], untested: {} });
  else expect(await result).toEqual({ passed: [], untested: { "gpu-1": expected.untested } });
  expect(cluster.suspended).toEqual("untested" in expected ? [`test-1: ${expected.untested}`] : []);

  if (expected.annotations) expect(cluster.cordon.annotations).toEqual(expected.annotations);
  expect(cluster.cordon.unschedulable).toBe(expected.isCordoned ?? false);
  expect(lines[0]).toBe("waits up to 10m for the smoke test of gpu-1");
  if (expected.logs) expect(lines.slice(1)).toEqual(expected.logs);
  if (expected.secondLog) expect(lines[1]).toContain(expected.secondLog);
  const seconds = clock.now() / 1_000;
  if (typeof expected.seconds === "number") expect(seconds).toBe(expected.seconds);
  else if (expected.seconds) {
    expect(seconds).toBeGreaterThanOrEqual(expected.seconds.atLeast);
    expect(seconds).toBeLessThan(expected.seconds.lessThan);
  }
  if (expected.jobsMade !== undefined) expect(cluster.timesCreated).toBe(expected.jobsMade);
}

const trainers = ["train-1", "train-2", "train-3", "train-4"];
/** Four more pods with a unit each: two more than the node offers, as after a change from four slices to two. */
const busyPods = [plugin, ...trainers.map((name) => pod(name, 1))];
const usersOfGpus =
  "in use by default/train-1 (1), default/train-2 (1), default/train-3 (1), default/train-4 (1)";

// A pod that starts before the kubelet counts again ends with UnexpectedAdmissionError.
test("the gate waits until the kubelet offers the planned number of GPUs", () =>
  runGate({
    job: "complete",
    test: { units: 2 },
    cluster: { allocatable: { [GPU]: "4" } }, // the number before the change to two slices
    events: [{ atSecond: 8, cluster: { allocatable: { [GPU]: "2" } } }],
    expect: {
      passed: true,
      seconds: { atLeast: 8, lessThan: 10 },
      logs: [
        "gpu-1: its smoke test passed; the node offers 4 of nvidia.com/gpu, but the plan expects 2; the update waits up to 1m for 2",
        "gpu-1: its smoke test passed",
      ],
    },
  }));

test("the gate waits for a missing card no longer than its patience", () =>
  runGate({
    job: "complete",
    test: { units: 3 },
    expect: {
      passed: true,
      seconds: 60,
      logs: [
        "gpu-1: its smoke test passed; the node offers 2 of nvidia.com/gpu, but the plan expects 3; the update waits up to 1m for 3",
        "gpu-1: its smoke test passed; the node offers 2 of nvidia.com/gpu, but the plan expects 3",
      ],
    },
  }));

test("a smoke test that passes opens the gate at once", () =>
  runGate({
    job: "complete",
    expect: { passed: true, seconds: 0, logs: ["gpu-1: its smoke test passed"] },
  }));

test("if a container sees cards that it did not request, the progress line explains the cause", () => {
  const terminatedContainer = (name: string, message: string): Status => ({
    name,
    state: { terminated: { exitCode: 0, message } },
  });
  const containerStatuses = [
    terminatedContainer("onlooker", "sees nvidia0, and asked for no card\n"),
    terminatedContainer("smoke-test", "x"),
  ];
  return runGate({
    job: "complete",
    cluster: { testPods: [pod("t-1", 1, { phase: "Succeeded", containerStatuses })] },
    expect: {
      passed: true,
      logs: [
        "gpu-1: its smoke test passed; a container next to it sees nvidia0, and asked for no card: with NVIDIA's " +
          "runtime, every image that sets NVIDIA_VISIBLE_DEVICES=all (CUDA images do) gets all cards",
      ],
    },
  });
});

test("if all GPUs are in use, the gate waits for its patience and reports the pods that use them", () =>
  runGate({
    cluster: { pods: busyPods },
    expect: {
      untested: `all 2 units of nvidia.com/gpu are ${usersOfGpus}`,
      seconds: 60,
      logs: [
        `gpu-1: its smoke test waits up to 1m for a free GPU: all 2 units of nvidia.com/gpu are ${usersOfGpus}`,
        `gpu-1: not tested: all 2 units of nvidia.com/gpu are ${usersOfGpus}; a smoke test never evicts pods`,
      ],
    },
  }));

// The scheduler's message is the same for cards that are all claimed and for a request that no card fits.
test("if all cards are claimed, the gate waits for its patience and reports the pods that claim them", () => {
  const message = "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable";
  return runGate({
    cluster: {
      allocatable: { [CLASS]: "4" },
      pods: ["dra-driver-nvidia-gpu-kubelet-plugin-x", ...trainers].map(podWithClaim),
      testPods: [pod(TEST_POD, 0, pendingStatus(message))],
    },
    test: { resource: CLASS },
    expect: { untested: `all 4 units of gpu.nvidia.com are ${usersOfGpus}`, seconds: 60 },
  });
});

test("a smoke test that must pass fails if no GPU becomes free within the limit", () =>
  runGate({
    cluster: { pods: busyPods },
    mustPass: true,
    expect: {
      error: [
        "machines.gpu-1: its smoke test (Job gpu/test-1) did not pass within 10m",
        "in use by default/train-1 (1)",
        "so the other workers are updated only after a smoke test has passed on it; free a GPU on the machine",
      ],
      seconds: 600,
      secondLog: "its smoke test waits up to 10m for a free GPU",
    },
  }));

const cordonedByUpgrade = {
  unschedulable: true,
  annotations: { "talos-gpu/cordoned-by": "c".repeat(64) },
};

test("a node that its upgrade left cordoned is uncordoned once the test that must pass has passed", () =>
  runGate({
    cluster: { cordon: cordonedByUpgrade },
    mustPass: true,
    job: "complete",
    expect: {
      passed: true,
      logs: ["gpu-1: its smoke test passed", "gpu-1: node gpu-1 is schedulable again"],
    },
  }));

test("after a test that must pass has failed, the node stays cordoned, and the failure names the command", () =>
  runGate({
    cluster: { cordon: cordonedByUpgrade },
    mustPass: true,
    events: [{ atSecond: 20, job: "failed" }],
    expect: {
      isCordoned: true,
      error: [
        "so the other workers are updated only after a smoke test has passed on it, and its node stays cordoned until then",
        "To give the node to pods without a test, run `kubectl uncordon gpu-1 && kubectl annotate node gpu-1 talos-gpu/cordoned-by-`",
      ],
    },
  }));

test("a node that a user uncordoned loses the annotation of the update", () => {
  const cluster = { cordon: { ...cordonedByUpgrade, unschedulable: false } };
  return runGate({
    cluster,
    mustPass: true,
    job: "complete",
    expect: { passed: true, logs: ["gpu-1: its smoke test passed"], annotations: {} },
  });
});

test("a node that a user cordoned stays cordoned after its test", () =>
  runGate({
    cluster: { cordon: { unschedulable: true, annotations: {} } },
    mustPass: true,
    job: "complete",
    expect: { passed: true, isCordoned: true },
  }));

test("the smoke test uses a GPU that becomes free within the gate's patience", () =>
  runGate({
    cluster: { pods: busyPods },
    events: [
      { atSecond: 30, cluster: { pods: [plugin], testPods: [] } },
      { atSecond: 40, job: "complete" },
    ],
    expect: { passed: true, seconds: 40 },
  }));

describe("the gate's failure at its limit", () => {
  const timeoutMessage =
    /^machines\.gpu-1: its smoke test \(Job gpu\/test-1\) did not pass within 10m \(/;

  test("reports a plugin that crashes", () => {
    const crashing = {
      ready: false,
      lastState: { terminated: { exitCode: 1, message: "nvml init failed" } },
      state: { waiting: { reason: "CrashLoopBackOff" } },
    };
    const crashed = pod("nvidia-device-plugin-x", 0, {
      phase: "Running",
      containerStatuses: [crashing],
    });
    return runGate({
      cluster: { pods: [crashed, ...busyPods.slice(1)] },
      expect: {
        error: [
          timeoutMessage,
          /offers 2 of .*in use by default\/train-1.*Pod nvidia-device-plugin-x: CrashLoopBackOff, /,
          "Pod nvidia-device-plugin-x: CrashLoopBackOff, exit 1, nvml init failed",
        ],
        seconds: 600,
      },
    });
  });

  test("reports that the node has no plugin and offers no GPU", () =>
    runGate({
      cluster: { pods: busyPods.slice(1), allocatable: {} },
      expect: {
        error: [
          timeoutMessage,
          /Insufficient nvidia.com\/gpu.*the node offers 0 of nvidia.com\/gpu, in use by /,
          /, in use by .*no pod of the device plugin is on the node/,
        ],
        seconds: 600,
      },
    }));

  test("reports a pod that uses GPUs but does not run", () =>
    runGate({
      cluster: { pods: [plugin, pod("stuck", 2, { phase: "Pending" })] },
      expect: { error: [timeoutMessage, "in use by default/stuck (2)"], seconds: 600 },
    }));

  test("reports the scheduler's reason if it is not a lack of GPUs", () => {
    const reason = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
    return runGate({
      cluster: { pods: busyPods, testPods: [pod(TEST_POD, 1, pendingStatus(reason))] },
      expect: { error: [timeoutMessage, "didn't match Pod's node affinity"], seconds: 600 },
    });
  });

  test("reports no pods that have ended, since they use no GPU", () =>
    runGate({
      cluster: { pods: [plugin, pod("done", 2, { phase: "Succeeded" })] },
      expect: { error: [timeoutMessage, "no other pod uses it"], seconds: 600 },
    }));
});

test("a failed smoke test is reported at once, with its pods' messages", () => {
  const rejected =
    "Pod was rejected: Allocate failed due to requested number of devices unavailable";
  const terminated = { exitCode: 2, message: "cuda error\nTest FAILED\n" };
  return runGate({
    cluster: {
      testPods: [
        pod("t-1", 1, { phase: "Failed", reason: "UnexpectedAdmissionError", message: rejected }),
        pod("t-2", 1, { phase: "Failed", containerStatuses: [{ state: { terminated } }] }),
      ],
    },
    events: [{ atSecond: 5, job: "failed" }],
    expect: {
      error: [
        /^machines\.gpu-1: /,
        "machines.gpu-1: its smoke test (Job gpu/test-1) failed: Job has reached the specified backoff limit " +
          `(Pod t-1: UnexpectedAdmissionError: ${rejected}, Pod t-2: exit 2, cuda error | Test FAILED, ` +
          "the node offers 2 of nvidia.com/gpu, no other pod uses it, Pod nvidia-device-plugin-x: ready); " +
          "no workload may use a GPU before a smoke test has passed on it; " +
          "fix the cause in parentheses (`npx talos-gpu doctor` shows more), then run the update again",
        /then run the update again$/,
      ],
      seconds: 5,
    },
  });
});

test.each(["failed", "suspended"] as const)(
  "a smoke test that an earlier run left %s is created again",
  (job) =>
    // The API server deletes the old Job only at the second look.
    runGate({
      job,
      events: [{ atSecond: 10, job: "complete" }],
      expect: { passed: true, jobsMade: 2 },
    }),
);

test("a pod with an init container and a pod that has ended do not make a node count as full", () =>
  runGate({
    cluster: { pods: [plugin, podWithInit("both", 1), pod("done", 2, { phase: "Succeeded" })] },
    events: [{ atSecond: 90, job: "complete" }], // a unit is free all the time, so the machine is not busy
    expect: { passed: true, seconds: 90 },
  }));

describe("the gate's progress lines", () => {
  const rejectedPod = (name: string) =>
    `Error creating: pods "${name}" is forbidden: pod rejected: RuntimeClass "nvidia" not found`;

  /** The lines of a wait. The cluster changes at these seconds, and the test passes after 60. */
  async function logLinesOf(
    cluster: FakeCluster,
    changes: Record<number, () => void>,
  ): Promise<string[]> {
    const clock = new FakeClock();
    const lines: string[] = [];
    for (const [second, change] of Object.entries(changes)) clock.after(Number(second), change);
    clock.after(60, () => cluster.setJobState("complete"));
    await awaitTests(task, cluster, clock, (line) => lines.push(line));
    return lines;
  }

  test("name at once the reason why the test has no pod, and each later change", async () => {
    const cluster = new FakeCluster();
    Object.assign(cluster, { testPods: [], warnings: [rejectedPod("test-1-a")] });
    const starting = pod("test-1-c", 1, { phase: "Pending" });
    const lines = await logLinesOf(cluster, {
      10: () => (cluster.warnings = [rejectedPod("test-1-a"), rejectedPod("test-1-b")]),
      20: () => (cluster.testPods = [starting]),
      30: () => (cluster.testPods = [pod("test-1-c", 1)]),
    });
    expect(lines).toEqual([
      "waits up to 10m for the smoke test of gpu-1",
      'gpu-1: its smoke test waits: Kubernetes refuses its pod: pod rejected: RuntimeClass "nvidia" not found',
      "gpu-1: its smoke test's pod starts",
      "gpu-1: its smoke test runs",
      "gpu-1: its smoke test passed",
    ]);
  });

  test("name the node's GPUs and the plugin's state while the test's pod is unscheduled", async () => {
    const cluster = new FakeCluster();
    Object.assign(cluster, { allocatable: {}, pods: [] });
    const [, line] = await logLinesOf(cluster, {});
    expect(line).toBe(
      `gpu-1: its smoke test waits: Pod gpu-smoke-test-gpu-1-abc: ${INSUFFICIENT}; the node offers 0 of ${GPU}; ` +
        "no pod of the device plugin is on the node",
    );
  });

  test("at the limit, a failure names the reason why the test has no pod", async () => {
    const cluster = new FakeCluster();
    Object.assign(cluster, { testPods: [], warnings: [rejectedPod("test-1-a")] });
    const message = await errorMessageOf(awaitTests(task, cluster, new FakeClock(), () => {}));
    expect(message).toContain(
      'did not pass within 10m (Kubernetes refuses its pod: pod rejected: RuntimeClass "nvidia" not found',
    );
  });
});

test("the gate waits for nothing and deletes no Job if every GPU machine is away", async () => {
  const cluster = new FakeCluster();
  cluster.setJobState("failed");
  const removedJobs: unknown[] = [];
  cluster.remove = async (...job: unknown[]) => void removedJobs.push(...job);
  const clock = new FakeClock();
  const lines: string[] = [];
  const result = await awaitTests({ ...task, tests: [] }, cluster, clock, (line) =>
    lines.push(line),
  );
  expect(result).toEqual({ passed: [], untested: {} });
  expect(removedJobs).toEqual([]);
  expect(clock.now()).toBe(0);
  expect(lines).toEqual(["no smoke test to wait for: every GPU machine is away"]);
});
