import { awaitTests } from "../../../../components/machine/program/gate/await-tests";
import type { TestedCluster } from "../../../../components/machine/program/gate/gate-cluster";
import { FakeClock } from "../fakes";
import { failure } from "../setup";

const GPU = "nvidia.com/gpu";
/** What kube-scheduler v1.36 says of a pod that finds no unit and evicts nobody. */
const INSUFFICIENT = `0/1 nodes are available: 1 Insufficient ${GPU}. preemption: not eligible due to preemptionPolicy=Never.`;

type Pod = Record<string, any>;

const pod = (name: string, units: number, status: Pod = running): Pod => ({
  metadata: { name, namespace: name.includes("device-plugin") ? "gpu" : "default", uid: name },
  spec: { containers: [{ name: "main", resources: units > 0 ? { limits: { [GPU]: String(units) } } : {} }] },
  status,
});
const running = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const plugin = pod("nvidia-device-plugin-x", 0);
const unscheduled = pod("gpu-smoke-test-gpu-1-abc", 1, {
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", message: INSUFFICIENT }],
});

/** A machine with so many units, its pods, and a test whose Job has these conditions. */
class Cluster implements TestedCluster {
  conditions: Pod[] = [];
  suspended: string[] = [];
  allocatable: Record<string, string> = { [GPU]: "2" };
  tests: Pod[] = [unscheduled];
  pods: Pod[] = [plugin];

  suspend_ = false;
  made = 0;
  jobs = async () =>
    [
      { metadata: { name: "test-1" }, spec: { suspend: this.suspend_ }, status: { conditions: this.conditions } },
    ] as any;
  remove = async (): Promise<void> => {};
  /** The API server takes a second look to let the old one go. */
  makeAnew = async (): Promise<boolean> => {
    this.made++;
    if (this.made < 2) return false;
    this.conditions = [];
    this.suspend_ = false;
    return true;
  };
  podsOfJob = async () => this.tests as any;
  node = async () => ({ status: { allocatable: this.allocatable } }) as any;
  podsOn = async () => this.pods as any;
  suspend = async (_namespace: string, job: string, why: string): Promise<void> => {
    this.suspended.push(`${job}: ${why}`);
  };
  pass = (): void => void (this.conditions = [{ type: "Complete", status: "True" }]);
}

const task = {
  namespace: "gpu",
  tests: [{ machine: "gpu-1", job: "test-1", resource: GPU }],
  limit: "10m",
  patience: "1m",
  pollSeconds: 1,
};

function gate(cluster: Cluster, units?: number, more: { mustPass?: boolean } = {}) {
  const [clock, lines]: [FakeClock, string[]] = [new FakeClock(), []];
  const tests = units === undefined ? task.tests : task.tests.map((one) => ({ ...one, units }));
  const wanted = { ...task, tests, ...more };
  return { clock, lines, run: () => awaitTests(wanted, cluster, clock, (line) => lines.push(line)) };
}

test("it stays shut until the kubelet tells what the node offers: a pod before that ends with UnexpectedAdmissionError", async () => {
  const cluster = new Cluster();
  cluster.pass();
  cluster.allocatable = { [GPU]: "4" }; // as before the change to two slices
  const { clock, lines, run } = gate(cluster, 2);
  clock.after(8, () => (cluster.allocatable = { [GPU]: "2" }));
  expect(await run()).toEqual({ passed: ["gpu-1"], untested: {} });
  expect(clock.now()).toBeGreaterThanOrEqual(8_000);
  expect(clock.now()).toBeLessThan(10_000);
  expect(lines[0]).toBe(
    "gpu-1: its smoke test passed; the node offers 4 of nvidia.com/gpu, the plan says 2: waits up to 1m",
  );
});

test("a card that stays away does not keep it shut for longer than its patience", async () => {
  const cluster = new Cluster();
  cluster.pass();
  const { clock, lines, run } = gate(cluster, 3);
  expect(await run()).toEqual({ passed: ["gpu-1"], untested: {} });
  expect(clock.now()).toBe(60_000);
  expect(lines.at(-1)).toBe("gpu-1: its smoke test passed; the node offers 2 of nvidia.com/gpu, the plan says 3");
});

/** Two units, four pods: as after 4 -> 2 slices, when nobody has been evicted. */
const four = [1, 2, 3, 4].map((n) => pod(`train-${n}`, 1));

test("a test that passes opens the gate at once", async () => {
  const cluster = new Cluster();
  cluster.pass();
  const { clock, run } = gate(cluster);
  expect(await run()).toEqual({ passed: ["gpu-1"], untested: {} });
  expect(clock.now()).toBe(0);
});

test("with every unit in use it waits for its patience, evicts nobody, and names who uses them", async () => {
  const cluster = new Cluster();
  cluster.pods.push(...four);
  const { clock, lines, run } = gate(cluster);
  const inUse =
    "all 2 units of nvidia.com/gpu are in use by default/train-1 (1), default/train-2 (1), default/train-3 (1), default/train-4 (1)";
  expect(await run()).toEqual({ passed: [], untested: { "gpu-1": inUse } });
  expect(cluster.suspended).toEqual([`test-1: ${inUse}`]);
  expect(clock.now()).toBe(60_000);
  expect(lines).toEqual([
    `gpu-1: its smoke test waits up to 1m for a free unit: ${inUse}`,
    `gpu-1: not tested: ${inUse}; a test evicts no other pod`,
  ]);
});

test("a test that must pass waits for a unit until the limit, and has failed then: further machines wait for it", async () => {
  const cluster = new Cluster();
  cluster.pods.push(...four);
  const { clock, lines, run } = gate(cluster, undefined, { mustPass: true });
  const said = await failure(run());
  expect(said).toContain("machines.gpu-1: its smoke test (Job gpu/test-1) did not pass within 10m");
  expect(said).toContain("in use by default/train-1 (1)");
  expect(said).toContain("no other worker starts before its test has passed; free a unit on it");
  expect(clock.now()).toBe(600_000);
  expect(lines[0]).toContain("its smoke test waits up to 10m for a free unit");
  expect(cluster.suspended).toEqual([]);
});

test("a unit that comes free within its patience is taken", async () => {
  const cluster = new Cluster();
  cluster.pods.push(...four);
  const { clock, run } = gate(cluster);
  clock.after(30, () => {
    cluster.pods = [plugin];
    cluster.tests = [];
  });
  clock.after(40, cluster.pass);
  expect(await run()).toEqual({ passed: ["gpu-1"], untested: {} });
  expect(cluster.suspended).toEqual([]);
});

test.each<[string, (cluster: Cluster) => void, RegExp]>([
  [
    "a plugin that crashes",
    (cluster) => {
      const crash = { ready: false, lastState: { terminated: { exitCode: 1, message: "nvml init failed" } } };
      const state = { waiting: { reason: "CrashLoopBackOff" } };
      cluster.pods = [pod("nvidia-device-plugin-x", 0, { phase: "Running", containerStatuses: [{ ...crash, state }] })];
      cluster.pods.push(...four);
    },
    /offers 2 of .*in use by default\/train-1.*Pod nvidia-device-plugin-x: CrashLoopBackOff, exit 1, nvml init failed/,
  ],
  [
    "no plugin, and nothing offered",
    (cluster) => {
      cluster.pods = [...four];
      cluster.allocatable = {};
    },
    /Insufficient nvidia.com\/gpu.*the node offers 0 of nvidia.com\/gpu, in use by .*no pod of the device plugin is on the node/,
  ],
  [
    "units that are held by a pod that does not run",
    (cluster) => void cluster.pods.push(pod("stuck", 2, { phase: "Pending" })),
    /in use by default\/stuck \(2\)/,
  ],
  [
    "free units, and a scheduler with another reason",
    (cluster) => {
      const message = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
      const conditions = [{ type: "PodScheduled", status: "False", message }];
      cluster.tests = [pod("gpu-smoke-test-gpu-1-abc", 1, { phase: "Pending", conditions })];
      cluster.pods.push(...four);
    },
    /didn't match Pod's node affinity/,
  ],
])("%s is no excuse: at the limit it says what is wrong", async (_what, arrange, message) => {
  const cluster = new Cluster();
  arrange(cluster);
  const { clock, run } = gate(cluster);
  const said = await failure(run());
  expect(said).toMatch(/^machines\.gpu-1: its smoke test \(Job gpu\/test-1\) did not pass within 10m \(/);
  expect(said).toMatch(message);
  expect([clock.now(), cluster.suspended]).toEqual([600_000, []]);
});

test("a test that failed is told with its pods' words, without waiting for the limit", async () => {
  const cluster = new Cluster();
  const message = "Job has reached the specified backoff limit";
  const admission = "Pod was rejected: Allocate failed due to requested number of devices unavailable";
  cluster.tests = [
    pod("t-1", 1, { phase: "Failed", reason: "UnexpectedAdmissionError", message: admission }),
    pod("t-2", 1, {
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 2, message: "cuda error\nTest FAILED\n" } } }],
    }),
  ];
  const { clock, run } = gate(cluster);
  clock.after(5, () => (cluster.conditions = [{ type: "Failed", status: "True", message }]));
  expect(await failure(run())).toBe(
    `machines.gpu-1: its smoke test (Job gpu/test-1) failed: ${message} (Pod t-1: UnexpectedAdmissionError: ${admission}, ` +
      "Pod t-2: exit 2, cuda error | Test FAILED, the node offers 2 of nvidia.com/gpu, no other pod uses it, " +
      "Pod nvidia-device-plugin-x: ready); no workload may have a GPU before a test has computed on it; " +
      "fix what the message names, or run `talos-gpu doctor`; then run the update again",
  );
  expect(clock.now()).toBe(5_000);
});

test.each<[string, (cluster: Cluster) => void]>([
  ["failed", (cluster) => void (cluster.conditions = [{ type: "Failed", status: "True", message: "deadline" }])],
  ["given up", (cluster) => void (cluster.suspend_ = true)],
])("a test that an earlier run left %s is made again, once the old one is gone", async (_how, arrange) => {
  const cluster = new Cluster();
  arrange(cluster);
  const { clock, run } = gate(cluster);
  clock.after(10, cluster.pass);
  expect(await run()).toEqual({ passed: ["gpu-1"], untested: {} });
  expect(cluster.made).toBe(2);
});

test("devices of an init container are counted once, and pods that ended hold none", async () => {
  const cluster = new Cluster();
  const both = pod("both", 1);
  both["spec"].initContainers = both["spec"].containers;
  cluster.pods.push(both, pod("done", 2, { phase: "Succeeded" }));
  const { clock, run } = gate(cluster);
  clock.after(90, cluster.pass); // a unit is free all the time: this is no busy machine
  expect(await run()).toEqual({ passed: ["gpu-1"], untested: {} });
});
