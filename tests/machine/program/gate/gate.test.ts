import { awaitTests, type TestedCluster } from "../../../../components/machine/program/gate/await-tests";
import { FakeClock } from "../fakes";
import { table, fixture } from "../../../support/table";
import { failure } from "../setup";

const GPU = "nvidia.com/gpu";
const CLASS = "gpu.nvidia.com";
/** What kube-scheduler v1.36 says of a pod that finds no unit and evicts nobody. */
const INSUFFICIENT = `0/1 nodes are available: 1 Insufficient ${GPU}. preemption: not eligible due to preemptionPolicy=Never.`;

/** A row of the table, which says what each part of it is. */
interface Row {
  name: string;
  cluster?: { pods?: PodRow[]; tests?: PodRow[]; plugin?: Pod | null; allocatable?: Record<string, string> };
  busy?: boolean;
  job?: "complete" | "failed" | "suspended";
  units?: number;
  mustPass?: boolean;
  events?: { at: number; allocatable?: Record<string, string>; job?: Row["job"]; free?: boolean }[];
  passed?: boolean;
  untested?: string;
  error?: string[];
  lines?: string[];
  says?: string;
  suspended?: boolean;
  seconds?: number | [number, number];
  made?: number;
  claims?: boolean;
}
type PodRow = [name: string, units: number, status?: Pod | null, init?: "init"];
const rows = table<Row>(fixture("gates.yaml"), [
  ...(["name", "cluster", "busy", "job", "units", "mustPass", "events", "passed", "untested", "error"] as const),
  ...(["lines", "says", "suspended", "seconds", "made", "claims"] as const),
]);

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
  warnings: string[] = [];
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
  warningsOfJob = async (): Promise<string[]> => this.warnings;
  node = async () => ({ allocatable: this.allocatable }) as any;
  podsOn = async () => this.pods as any;
  /** A card for each pod but the driver's. */
  claimed = async () => Object.fromEntries(this.pods.slice(1).map(({ metadata }) => [metadata["uid"] as string, 1]));
  suspend = async (_namespace: string, job: string, why: string): Promise<void> => {
    this.suspended.push(`${job}: ${why}`);
  };
  /** How the Job is from now on. */
  become(job: Row["job"]): void {
    const message = "Job has reached the specified backoff limit";
    if (job === "complete") this.conditions = [{ type: "Complete", status: "True" }];
    else if (job === "failed") this.conditions = [{ type: "Failed", status: "True", message }];
    else if (job === "suspended") this.suspend_ = true;
  }
}

const task = {
  namespace: "gpu",
  tests: [{ machine: "gpu-1", job: "test-1", resource: GPU }],
  limit: "10m",
  patience: "1m",
  pollSeconds: 1,
};

function podOf([name, units, status, init]: PodRow): Pod {
  const made = pod(name, units, status ?? running);
  if (init) made["spec"].initContainers = made["spec"].containers;
  return made;
}

test.each(rows)("%s", async (_, row) => {
  const { cluster: { pods = [], tests, plugin: its, allocatable } = {}, busy, job, units, mustPass } = row;
  const [cluster, clock, lines]: [Cluster, FakeClock, string[]] = [new Cluster(), new FakeClock(), []];
  const four: PodRow[] = busy ? [1, 2, 3, 4].map((n) => [`train-${n}`, 1]) : [];
  const ofPlugin = its === undefined ? [plugin] : its === null ? [] : [pod("nvidia-device-plugin-x", 0, its)];
  cluster.pods = [...ofPlugin, ...[...four, ...pods].map(podOf)];
  if (tests) cluster.tests = tests.map(podOf);
  if (allocatable) cluster.allocatable = allocatable;
  if (row.claims) {
    cluster.allocatable = { [CLASS]: "4" };
    cluster.pods = [pod("dra-driver-nvidia-gpu-kubelet-plugin-x", 0), ...cluster.pods.slice(1)];
    for (const one of cluster.pods)
      Object.assign(one["spec"].containers[0], { resources: { claims: [{ name: "gpus" }] } });
    const message = "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable";
    const conditions = [{ type: "PodScheduled", status: "False", message }];
    cluster.tests = [pod("gpu-smoke-test-gpu-1-abc", 0, { phase: "Pending", conditions })];
  }
  cluster.become(job);
  for (const event of row.events ?? [])
    clock.after(event.at, () => {
      cluster.become(event.job);
      if (event.allocatable) cluster.allocatable = event.allocatable;
      if (event.free) Object.assign(cluster, { pods: [plugin], tests: [] });
    });
  const wanted = task.tests.map((one) => ({
    ...one,
    ...(row.claims ? { resource: CLASS } : {}),
    ...(units === undefined ? {} : { units }),
  }));
  const all = { ...task, tests: wanted, ...(mustPass ? { mustPass } : {}) };
  const ran = awaitTests(all, cluster, clock, (line) => lines.push(line));
  if (row.error) {
    const message = await failure(ran);
    for (const pattern of row.error) expect(message).toMatch(new RegExp(pattern));
  } else {
    const { untested } = row;
    expect(await ran).toEqual(
      row.passed ? { passed: ["gpu-1"], untested: {} } : { passed: [], untested: { "gpu-1": untested } },
    );
  }
  expect(cluster.suspended).toEqual(row.suspended ? [`test-1: ${row.untested}`] : []);
  expect(lines[0]).toBe("waits up to 10m for the smoke test of gpu-1");
  if (row.lines) expect(lines.slice(1)).toEqual(row.lines);
  if (row.says) expect(lines[1]).toContain(row.says);
  const seconds = clock.now() / 1_000;
  if (typeof row.seconds === "number") expect(seconds).toBe(row.seconds);
  else if (row.seconds)
    expect([seconds, seconds >= row.seconds[0] && seconds < row.seconds[1]]).toEqual([seconds, true]);
  if (row.made !== undefined) expect(cluster.made).toBe(row.made);
});

describe("what it says while it waits", () => {
  const rejected = (name: string) =>
    `Error creating: pods "${name}" is forbidden: pod rejected: RuntimeClass "nvidia" not found`;

  /** The lines of a wait in which the cluster becomes something else after so many seconds, and the test passes at 60. */
  async function linesOf(cluster: Cluster, changes: Record<number, () => void>): Promise<string[]> {
    const [clock, lines]: [FakeClock, string[]] = [new FakeClock(), []];
    for (const [at, change] of Object.entries(changes)) clock.after(Number(at), change);
    clock.after(60, () => cluster.become("complete"));
    await awaitTests(task, cluster, clock, (line) => lines.push(line));
    return lines;
  }

  test("names at once why there is no pod, and what it sees as that changes", async () => {
    const cluster = new Cluster();
    Object.assign(cluster, { tests: [], warnings: [rejected("test-1-a")] });
    const starting = pod("test-1-c", 1, { phase: "Pending" });
    const lines = await linesOf(cluster, {
      10: () => (cluster.warnings = [rejected("test-1-a"), rejected("test-1-b")]),
      20: () => (cluster.tests = [starting]),
      30: () => (cluster.tests = [pod("test-1-c", 1)]),
    });
    expect(lines).toEqual([
      "waits up to 10m for the smoke test of gpu-1",
      'gpu-1: its smoke test waits: its pod is refused: pod rejected: RuntimeClass "nvidia" not found',
      "gpu-1: its smoke test's pod starts",
      "gpu-1: its smoke test runs",
      "gpu-1: its smoke test passed",
    ]);
  });

  test("says what the node offers while the scheduler finds no place, and how the plugin is", async () => {
    const cluster = new Cluster();
    Object.assign(cluster, { allocatable: {}, pods: [] });
    const [, line] = await linesOf(cluster, {});
    expect(line).toBe(
      `gpu-1: its smoke test waits: Pod gpu-smoke-test-gpu-1-abc: ${INSUFFICIENT}; the node offers 0 of ${GPU}; ` +
        "no pod of the device plugin is on the node",
    );
  });

  test("at its limit it names why there is no pod", async () => {
    const cluster = new Cluster();
    Object.assign(cluster, { tests: [], warnings: [rejected("test-1-a")] });
    const message = await failure(awaitTests(task, cluster, new FakeClock(), () => {}));
    expect(message).toContain(
      'did not pass within 10m (its pod is refused: pod rejected: RuntimeClass "nvidia" not found',
    );
  });
});
