import { type Difference, differences, inOneLine } from "../../components/diagnosis/unlike/index";
import { diagnose, type Observations } from "../../components/diagnosis";
import { planOf } from "../support/plans";
import { asPlanned, ready } from "./as-planned";

const stacks = ["aarhus-h100", "frank", "modern", "rtx3090", "rtx5070ti", "velaryon"];

test.each(stacks)("%s as planned: nothing is unlike the plan, nor unlike a cluster that offers GPUs", (stack) => {
  const plan = planOf(stack);
  const seen = asPlanned(plan);
  expect(differences(seen, plan)).toEqual([]);
  expect(differences(seen)).toEqual([]);
  expect([...diagnose(seen, plan), ...diagnose(seen)]).toEqual([]);
});

const plan = planOf("rtx3090");
const namespace = plan.kubernetes.release.namespace;
const machine = plan.machines[0]!.name;
const plugin = "nvidia-device-plugin";

/** What was seen, after somebody has changed it. */
function changed(change: (seen: Required<Observations>) => void): Observations {
  const seen = asPlanned(plan) as Required<Observations>;
  change(seen);
  return seen;
}

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

/** What somebody changed by hand, and what the doctor calls it. */
const drifts: [string, (seen: Required<Observations>) => void, string][] = [
  [
    "another schematic, as after an upgrade by hand",
    ({ machines }) => (machines[0]!.schematicId = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
    "runs the image of schematic 376567988ad3, the plan says",
  ],
  ["another release", ({ machines }) => (machines[0]!.talosVersion = "v1.10.1"), "runs Talos v1.10.1, the plan says"],
  [
    "a machine that was installed anew, without extensions",
    ({ machines }) => Object.assign(machines[0]!, { extensions: [], schematicId: "0" }),
    "its image lacks the extensions nvidia-container-toolkit-production, nvidia-open-gpu-kernel-modules-production",
  ],
  [
    "a driver that is gone",
    ({ machines }) => (machines[0]!.driverVersion = null),
    "no NVIDIA driver is loaded, the plan",
  ],
  ["a module that is gone", ({ machines }) => machines[0]!.modules!.shift(), "kernel modules are not loaded: nvidia"],
  [
    "a service that waits",
    ({ machines }) => (machines[0]!.services = { "ext-nvidia-persistenced": "Waiting" }),
    "service ext-nvidia-persistenced is Waiting, the plan says Running",
  ],
  ["a boot that does not end", ({ machines }) => (machines[0]!.stage = "booting"), "is booting, not running"],
  ["a node that is not ready", ({ nodes }) => (nodes[0]!.ready = false), `node ${machine}: is not ready`],
  ["a node that is cordoned", ({ nodes }) => (nodes[0]!.unschedulable = true), "is cordoned"],
  ["a node that is gone", (seen) => (seen.nodes = []), `node ${machine}: is not in the cluster`],
  [
    "slices by another name",
    ({ nodes }) => (nodes[0]!.allocatable!["nvidia.com/gpu.shared"] = "8"),
    "offers 8 of nvidia.com/gpu.shared, the plan says none",
  ],
  ["a release that is gone", (seen) => (seen.releases = []), `Helm release ${namespace}/${plugin}: is not installed`],
  [
    "a release whose upgrade was killed",
    ({ releases }) => (releases[0]!.status = "pending-upgrade"),
    "is pending-upgrade in revision 1, not deployed",
  ],
  [
    "a release of another chart",
    ({ daemonSets }) => (daemonSets[0]!.labels = { "helm.sh/chart": "nvidia-device-plugin-0.14.0" }),
    "is of chart nvidia-device-plugin-0.14.0, the plan says nvidia-device-plugin-",
  ],
  [
    "a namespace without its label",
    ({ namespaces }) => (namespaces.find(({ name }) => name === namespace)!.labels = {}),
    `namespace ${namespace}: lacks the label pod-security.kubernetes.io/enforce=privileged`,
  ],
  [
    "a RuntimeClass with another handler",
    ({ runtimeClasses }) => (runtimeClasses[0]!.handler = "runc"),
    "RuntimeClass nvidia: has the handler runc, the plan says nvidia",
  ],
  [
    "a smoke test that is gone",
    (seen) => (seen.jobs = []),
    `Job of the smoke test of ${machine}: is not in namespace ${namespace}`,
  ],
  [
    "a smoke test that has not passed",
    ({ jobs }) => (jobs[0]!.succeeded = 0),
    `Job ${namespace}/gpu-smoke-test-${machine}-abcdef-12345678: the smoke test has not passed`,
  ],
  [
    "a power limit that is gone",
    (seen) => (seen.daemonSets = seen.daemonSets.filter(({ name }) => !name.includes("power"))),
    `DaemonSet of the power limit of 300 W: is not in namespace ${namespace}`,
  ],
  ["a workload that is gone", (seen) => (seen.pods = seen.pods.filter((pod) => pod.owner)), ": is not there"],
];

test.each(drifts)("drift: %s", (_, change, expected) => {
  const found = differences(changed(change), plan).map(inOneLine);
  expect(found.some((line) => line.includes(expected)) ? expected : found).toBe(expected);
});

test("a stale containerd part is named by the keys that it lacks; what its owner adds is none of it", () => {
  const { machines } = plan.spec;
  const withPart = planOf("rtx3090", {
    machines: { rtx3090: { ...machines["rtx3090"], containerd: { cdiSpecDirs: ["/var/cdi"] } } },
  });
  const part = withPart.machines[0]!.containerdPart!;
  const seen = (containerdPart: string): string[] => {
    const found = asPlanned(withPart) as Required<Observations>;
    found.machines[0]!.containerdPart = containerdPart;
    return differences(found, withPart).map(({ problem }) => problem);
  };
  expect(seen(`${part}\n[debug]\nlevel = "info"\n`)).toEqual([]);
  expect(seen("")).toEqual([
    "/etc/cri/conf.d/20-customization.part is stale: it lacks plugins.io.containerd.cri.v1.runtime.cdi_spec_dirs",
  ]);
});

test("of a release that is newer than the tables only the driver's branch is told", () => {
  const newer = planOf("rtx5070ti", { talosVersion: "v1.12.99" });
  const seen = (driverVersion: string): string[] => {
    const found = asPlanned(newer) as Required<Observations>;
    found.machines[0]!.driverVersion = driverVersion;
    return differences(found, newer).map(({ problem }) => problem);
  };
  expect(seen("570.999.01")).toEqual([]);
  expect(seen("535.1.1")).toEqual([expect.stringContaining("NVIDIA driver 535.1.1 is loaded, the plan says 570.")]);
});

test("what nobody looked at is not judged", () => {
  for (const stack of stacks) expect(differences({}, planOf(stack))).toEqual([]);
  expect(differences({})).toEqual([]);
});
