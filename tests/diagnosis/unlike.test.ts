import { type Difference, differences, inOneLine } from "../../components/diagnosis/unlike/index";
import { smokeTestNames } from "../../components/recipe/kubernetes/smoke-test-names";
import { diagnose, type Observations } from "../../components/diagnosis";
import { stackNames } from "../../stacks/stack-file";
import { planOf } from "../support/plans";
import { asPlanned, ready } from "./as-planned";
import { changed, machine, namespace, plan, plugin } from "./changed";

const stacks = stackNames();

test.each(stacks)("%s as planned: nothing is unlike the plan, nor unlike a cluster that offers GPUs", (stack) => {
  const plan = planOf(stack);
  const seen = asPlanned(plan);
  expect(differences(seen, plan)).toEqual([]);
  expect(differences(seen)).toEqual([]);
  expect([...diagnose(seen, plan), ...diagnose(seen)]).toEqual([]);
});

const crashing =
  (words: string, reason = "CrashLoopBackOff") =>
  (seen: Required<Observations>): void => {
    const pod = seen.pods.find((one) => one.owner === `DaemonSet/${plugin}`)!;
    pod.containers = [{ name: "ctr", state: "waiting", ready: false, reason, lastMessage: words }];
    seen.daemonSets.find(({ name }) => name === plugin)!.ready = 0;
    seen.nodes[0]!.allocatable = { "nvidia.com/gpu": "0" };
  };

const none = `node ${machine}: offers 0 of nvidia.com/gpu, the plan says 8`;
const unready = `DaemonSet ${namespace}/${plugin}: not ready: 0 of 1 pods`;

/** What somebody did, what is unlike the plan then, and the known cause where there is one. */
const faults: [string, (seen: Required<Observations>) => void, string[], string[]][] = [
  [
    "plugin deleted",
    (seen) => {
      seen.daemonSets = seen.daemonSets.filter(({ name }) => name !== plugin);
      seen.pods = seen.pods.filter(({ owner }) => owner !== `DaemonSet/${plugin}`);
      seen.nodes[0]!.allocatable = { "nvidia.com/gpu": "0" };
    },
    [none, `DaemonSet of the device plugin: is not in namespace ${namespace}`],
    [],
  ],
  ["plugin crashing", crashing("panic: out of order"), [none, unready], []],
  [
    "handler missing in containerd",
    (seen) => {
      seen.nodes[0]!.runtimeHandlers = ["runc"];
      seen.events.push({
        namespace,
        object: "Pod/web",
        message:
          'Failed to create pod sandbox: rpc error: code = Unknown desc = unable to get OCI runtime for sandbox "3f": no runtime for "nvidia" is configured',
      });
    },
    [`node ${machine}: its containerd has no runtime "nvidia"`],
    ["runtimeHandler"],
  ],
  [
    "RuntimeClass missing",
    (seen) => (seen.runtimeClasses = seen.runtimeClasses.filter(({ name }) => name !== "nvidia")),
    ["RuntimeClass nvidia: is not there"],
    [],
  ],
  ["NVML missing", crashing("nvml init failed: ERROR_LIBRARY_NOT_FOUND"), [none, unready], ["driverLibraries"]],
  [
    "driver root wrong",
    crashing(
      "failed to create CDI spec generator: failed to open ld cache: open /driver-root/etc/ld.so.cache: no such file or directory; unable to create cdi spec file",
    ),
    [none, unready],
    ["driverRoot"],
  ],
  [
    "taint",
    (seen) => seen.nodes[0]!.taints!.push("maintenance=yes:NoExecute"),
    [`node ${machine}: has the taint maintenance=yes:NoExecute, which GPU pods of the plan do not tolerate`],
    [],
  ],
  [
    "label",
    (seen) => {
      delete seen.nodes[0]!.labels["nvidia.com/gpu.present"];
      Object.assign(
        seen.daemonSets.find(({ name }) => name === plugin)!,
        { desired: 0, ready: 0 },
      );
      seen.nodes[0]!.allocatable = {};
    },
    [
      `node ${machine}: offers none of nvidia.com/gpu, the plan says 8`,
      `node ${machine}: lacks the label nvidia.com/gpu.present=true`,
      `DaemonSet ${namespace}/${plugin}: wants 0 pods, the plan has 1 GPU machine`,
    ],
    ["gpuPresentLabel"],
  ],
  [
    "stale configuration",
    (seen) => (seen.machines[0]!.staged = true),
    [
      `machine ${machine}: has another configuration staged for its next boot: somebody else's, or that of an update that did not end`,
    ],
    [],
  ],
  [
    "card gone",
    (seen) => (seen.nodes[0]!.allocatable = { "nvidia.com/gpu": "4" }),
    [`node ${machine}: offers 4 of nvidia.com/gpu, the plan says 8`],
    [],
  ],
];

test.each(faults)("%s: what is unlike the plan, and the known cause", (_, change, expected, causes) => {
  const seen = changed(change);
  expect(differences(seen, plan).map(inOneLine)).toEqual(expected);
  expect(diagnose(seen, plan).map(({ fix }) => fix)).toEqual(causes);
});

test.each([
  ["7", []],
  ["1", []],
  ["0", ["offers 0 of nvidia.com/gpu, the plan says at least 1"]],
])("of a card whose MIG geometry is unknown the node may offer more: %s", (units, told) => {
  const machines = structuredClone(plan.spec.machines);
  machines[machine]!.gpus = [{ model: "NVIDIA X100 80GB", architecture: "Hopper" }];
  const mig = { strategy: "single", profile: "all-1g.10gb" };
  const unknown = planOf("rtx3090", { machines, sharing: { mig } });
  const seen = asPlanned(unknown);
  seen.nodes![0]!.allocatable = { "nvidia.com/gpu": units };
  expect(differences(seen, unknown).map(({ problem }) => problem)).toEqual(told);
});

test("the newest smoke test tells: that of the update before, which passed, stays where an update ends at the gate", () => {
  const job = (id: string, day: number, succeeded: number) => ({
    ...{ namespace, name: `gpu-smoke-test-${machine}-abcdef-${id}` },
    ...{ created: `2026-11-0${day}T00:00:00.000Z`, succeeded },
  });
  const told = (jobs: Observations["jobs"]): string[] =>
    differences(
      changed((seen) => (seen.jobs = jobs!)),
      plan,
    ).map(inOneLine);
  const failed = `Job ${namespace}/gpu-smoke-test-${machine}-abcdef-22222222: the smoke test has not passed`;
  expect(told([job("11111111", 1, 1), job("22222222", 2, 0)])).toEqual([failed]);
  expect(told([job("11111111", 1, 0), job("22222222", 2, 1)])).toEqual([]);
});

test("the test of a machine that passed does not speak for one of a like name", () => {
  const names = ["1", "2"].map((last) => `gpu-node-of-the-second-rack-in-room-${last}`);
  const like = { role: "worker", configuration: "adopted", gpus: [{ model: "H100 NVL" }] };
  const machines = Object.fromEntries(names.map((name, index) => [name, { address: `192.0.2.${index + 1}`, ...like }]));
  const alike = planOf("aarhus-h100", { machines });
  const where = alike.kubernetes.release.namespace;
  const jobs = [...smokeTestNames(names).values()].map((name, succeeded) => ({
    ...{ namespace: where, name: `${name}-abcdef-12345678` },
    succeeded,
  }));
  expect(differences({ ...asPlanned(alike), jobs }, alike).map(inOneLine)).toEqual([
    `Job ${where}/${jobs[0]!.name}: the smoke test has not passed`,
  ]);
});

test("in kube-system somebody else's are not judged by the plan; what offers the GPUs is", () => {
  const shared = planOf("aarhus-h100");
  const seen = asPlanned(shared) as Required<Observations>;
  const broken = (name: string) => ({ namespace: "kube-system", name, desired: 1, ready: 0 });
  seen.deployments = [...seen.deployments, broken("my-csi"), broken("node-feature-discovery-master")];
  expect(shared.kubernetes.release.namespace).toBe("kube-system");
  expect(differences(seen, shared).map(({ about }) => about)).toEqual([
    "Deployment kube-system/node-feature-discovery-master",
  ]);
});

test("whatever crashes is quoted, its last line last", () => {
  const seen = changed(crashing("I1121 starting\nE1121 panic: out of order"));
  const [, pods] = differences(seen, plan) as [Difference, Difference];
  expect(pods.lastWords).toEqual([
    `Pod/${plugin}-${machine} ctr: CrashLoopBackOff`,
    `Pod/${plugin}-${machine} ctr: I1121 starting`,
    `Pod/${plugin}-${machine} ctr: E1121 panic: out of order`,
  ]);
});

test("a plugin that runs, ready, without a card is quoted by its log", () => {
  const seen = changed(({ pods, nodes }) => {
    nodes[0]!.allocatable = {};
    pods.find((one) => one.owner === `DaemonSet/${plugin}`)!.containers = [
      { ...ready, log: "No devices found. Waiting indefinitely." },
    ];
  });
  expect(differences(seen).map(({ problem, lastWords }) => [problem, ...(lastWords ?? [])])).toEqual([
    [
      "has a GPU, and offers none: no resource nvidia.com/…",
      `Pod/${plugin}-${machine} main: No devices found. Waiting indefinitely.`,
    ],
  ]);
});

test("what nobody looked at is not judged", () => {
  for (const stack of stacks) expect(differences({}, planOf(stack))).toEqual([]);
  expect(differences({})).toEqual([]);
});
