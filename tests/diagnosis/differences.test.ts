import { diagnose, differences, inOneLine, type Observations } from "../../components/diagnosis";
import { planCluster } from "../../components/recipe/index";
import { smokeTestNames } from "../../components/recipe/cluster/smoke-test-names";
import { planOf } from "../support/plans";
import { asPlanned, ready } from "./as-planned";
import { differenceCases } from "./difference-cases";
import { type SeenCluster, seenWith } from "./seen-cluster";
import { stacks } from "../support/stacks";

/** The stack of the table, with a device plugin and a card in eight slices. */
const plan = planOf("rtx3090");

test.each(stacks)("%s as planned has no differences, with or without its plan", (stack) => {
  const plan = planOf(stack);
  const seen = asPlanned(plan);
  expect(differences(seen, plan)).toEqual([]);
  expect(differences(seen)).toEqual([]);
  expect([...diagnose(seen, plan), ...diagnose(seen)]).toEqual([]);
});

test.each(differenceCases)(
  "exactly the expected differences and causes are reported for $name",
  ({ change, differences: wanted, causes = [] }) => {
    const seen = seenWith(plan, change);
    expect(differences(seen, plan).map(inOneLine)).toEqual(wanted);
    expect(diagnose(seen, plan).map(({ fix }) => fix)).toEqual(causes);
  },
);

test("a custom installer image is compared only with the configuration", () => {
  const machines = Object.entries(plan.spec.machines).map(
    ([name, { extensions: _, kernelArgs: __, ...spec }]) => [
      name,
      {
        ...spec,
        installerImage: `registry.example.com/talos/installer:${plan.spec.talosVersion}-1`,
      },
    ],
  );
  const own = planCluster({ ...plan.spec, machines: Object.fromEntries(machines) });
  const seen = asPlanned(own) as Required<Observations>;
  Object.assign(seen.machines[0]!, { schematicId: undefined, extensions: ["own"] });
  expect(differences(seen, own)).toEqual([]);
  expect(diagnose(seen, own)).toEqual([]);
  seen.machines[0]!.installImage = "factory.talos.dev/x:v1";
  expect(differences(seen, own).map(inOneLine)).toEqual([
    expect.stringMatching(
      /is configured for the image factory\.talos\.dev\/x:v1, the plan says registry/,
    ),
  ]);
});

const problems = (seen: Observations, its = plan): string[] =>
  differences(seen, its).map(({ problem }) => problem);

test.each([
  ["7", []],
  ["1", []],
  ["0", ["offers 0 of nvidia.com/gpu, the plan says at least 1"]],
])("%s units of a card with unknown MIG geometry have the differences %j", (units, told) => {
  const machines = {
    rtx3090: {
      ...plan.spec.machines["rtx3090"],
      gpus: [{ model: "NVIDIA X100 80GB", architecture: "Hopper" }],
    },
  };
  const unknown = planOf("rtx3090", {
    machines,
    sharing: { mig: { strategy: "single", profile: "all-1g.10gb" } },
  });
  const seen = seenWith(unknown, ({ node }) => {
    node.allocatable = { "nvidia.com/gpu": units };
  });
  expect(problems(seen, unknown)).toEqual(told);
});

test("a containerd part is reported if it lacks a key of the stack, but not for further keys", () => {
  const machines = {
    rtx3090: { ...plan.spec.machines["rtx3090"], containerd: { cdiSpecDirs: ["/var/cdi"] } },
  };
  const withPart = planOf("rtx3090", { machines });
  const seen = (part: string): string[] =>
    problems(
      seenWith(withPart, ({ machine }) => {
        machine.containerdPart = part;
      }),
      withPart,
    );
  expect(seen(`${withPart.machines[0]!.containerdPart!}\n[debug]\nlevel = "info"\n`)).toEqual([]);
  expect(seen("")).toEqual([
    '/etc/cri/conf.d/20-customization.part is stale: it lacks plugins."io.containerd.cri.v1.runtime".cdi_spec_dirs',
  ]);
});

test("on Talos 1.14 a document that overrides the containerd part is reported", () => {
  const on14 = { talosVersion: "v1.14.1", kubernetesVersion: "v1.36.0" };
  const machines = {
    rtx3090: { ...plan.spec.machines["rtx3090"], containerd: { nvidiaDefaultRuntime: true } },
  };
  const withPart = planOf("rtx3090", { ...on14, machines });
  const part = withPart.machines[0]!.containerdPart!;
  const seen = (merged: string): string[] =>
    problems(
      seenWith(withPart, ({ machine }) => {
        machine.mergedContainerd = merged;
        machine.containerdPart = part;
      }),
      withPart,
    ).filter((problem) => problem.includes("cri.toml"));
  expect(seen(`version = 3\n${part}`)).toEqual([]);
  const overridden = part.replace('"nvidia"', '"runc"');
  expect(seen(`## in-memory customization "zz" (sha256:aa)\nversion = 3\n${overridden}`)).toEqual([
    expect.stringMatching(
      /^\/etc\/cri\/conf\.d\/cri\.toml lacks .*default_runtime_name\. CRICustomizationConfig zz/,
    ),
  ]);
});

test("a containerd that is down is reported although the machine is running", () => {
  const seen = (state: string): string[] => {
    return problems(
      seenWith(plan, ({ machine }) => {
        machine.services = { ...machine.services, cri: state };
      }),
    );
  };
  expect(seen("Running")).toEqual([]);
  expect(seen("Waiting")).toEqual(["service cri is Waiting: no pod starts"]);
});

test("a GPU node without labels of Node Feature Discovery is reported if the operator needs them", () => {
  const [operator, label] = [
    planOf("rtx5070ti"),
    "feature.node.kubernetes.io/pci-0300_10de.present",
  ];
  const told = (of: typeof plan) =>
    problems(
      seenWith(of, ({ node }) => {
        delete node.labels[label];
      }),
      of,
    );
  expect(told(operator)).toEqual([
    expect.stringMatching(/^lacks the label .*pci-10de.*reports no card/),
  ]);
  expect(told(plan)).toEqual([]);
});

test("for a release newer than the tables only the driver's branch is compared", () => {
  const newer = planOf("rtx5070ti", { talosVersion: "v1.12.99" });
  const seen = (version: string): string[] =>
    problems(
      seenWith(newer, ({ machine }) => {
        machine.driverVersion = version;
      }),
      newer,
    );
  expect(seen("570.999.01")).toEqual([]);
  expect(seen("535.1.1")).toEqual([
    expect.stringContaining("NVIDIA driver 535.1.1 is loaded, the plan says 570."),
  ]);
});

test("a passed test does not count for a machine with a similar name", () => {
  const names = ["1", "2"].map((last) => `gpu-node-of-the-second-rack-in-room-${last}`);
  const like = { role: "worker", configuration: "adopted", gpus: [{ model: "H100 NVL" }] };
  const machines = Object.fromEntries(
    names.map((name, index) => [name, { address: `192.0.2.${index + 1}`, ...like }]),
  );
  const alike = planOf("aarhus-h100", { machines });
  const where = alike.kubernetes.release.namespace;
  const jobs = [...smokeTestNames(names).values()].map((name, succeeded) => ({
    namespace: where,
    name: `${name}-abcdef-12345678`,
    succeeded,
  }));
  expect(differences({ ...asPlanned(alike), jobs }, alike).map(inOneLine)).toEqual([
    `Job ${where}/${jobs[0]!.name}: the smoke test has not passed`,
  ]);
});

test("in kube-system only the GPU provider is compared", () => {
  const shared = planOf("aarhus-h100");
  const broken = (name: string) => ({ namespace: "kube-system", name, desired: 1, ready: 0 });
  const deployments = [broken("my-csi"), broken("node-feature-discovery-master")];
  expect(shared.kubernetes.release.namespace).toBe("kube-system");
  expect(
    differences({ ...asPlanned(shared), deployments }, shared).map(({ about }) => about),
  ).toEqual(["Deployment kube-system/node-feature-discovery-master"]);
});

const plugin = "nvidia-device-plugin-rtx3090";
const offersNothing = ({ node }: SeenCluster): void => {
  node.allocatable = {};
};

test.each<[string, boolean, (seen: SeenCluster) => void, string, string[]]>([
  [
    "the last words of a crashed container are quoted in order",
    true,
    (seen) => {
      seen.plugin.ready = 0;
      const lastMessage = "I1121 starting\nE1121 panic";
      seen.pod(plugin).containers = [
        { name: "ctr", state: "waiting", reason: "CrashLoopBackOff", lastMessage },
      ];
    },
    "not ready: 0 of 1 pods",
    ["CrashLoopBackOff", "I1121 starting", "E1121 panic"].map(
      (line) => `Pod/${plugin} ctr: ${line}`,
    ),
  ],
  [
    "the log of a ready plugin that offers no card is quoted",
    false,
    (seen) => {
      offersNothing(seen);
      const log = "No devices found. Waiting indefinitely.";
      seen.pod(plugin).containers = [{ ...ready, log }];
    },
    "has a GPU, but offers none: neither a resource nvidia.com/… nor devices of gpu.nvidia.com for claims",
    [`Pod/${plugin} main: No devices found. Waiting indefinitely.`],
  ],
])("%s", (_, byPlan, change, problem, lastWords) => {
  const found = differences(seenWith(plan, change), byPlan ? plan : undefined);
  expect(found).toMatchObject([{ problem, lastWords }]);
});

test("parts that were not observed cause no difference", () => {
  for (const stack of stacks) expect(differences({}, planOf(stack))).toEqual([]);
  expect(differences({})).toEqual([]);
});

describe("without a plan", () => {
  const told = (seen: Observations): string[] => differences(seen).map(inOneLine);

  test("an empty cluster and a cluster without GPUs are reported", () => {
    const none =
      "cluster: no node has a GPU: no node has NVIDIA's extensions, Node Feature Discovery's label for a card, or a resource nvidia.com/…";
    const nothing =
      "cluster: none of the GPU Operator, NVIDIA's device plugin and its DRA driver is installed, so nothing offers GPUs";
    const empty = { nodes: [], pods: [], daemonSets: [] };
    expect(told(empty)).toEqual([none, nothing]);
    expect(
      told({ ...empty, nodes: [{ name: "a", labels: {}, allocatable: { cpu: "4" } }] }),
    ).toEqual([none, nothing]);
  });

  test.each([
    ["aarhus-h100", "kube-system/nvidia-device-plugin"],
    ["rtx5070ti", "nvidia-gpu-operator/nvidia-device-plugin-daemonset"],
  ])(
    "%s: a node without GPUs, a plugin that is not ready and a missing RuntimeClass are reported",
    (stack, set) => {
      const seen = (change: (seen: SeenCluster) => void): string[] =>
        told(seenWith(planOf(stack), change));
      const { name } = planOf(stack).machines[0]!;
      expect(seen(offersNothing)).toEqual([
        `node ${name}: has a GPU, but offers none: neither a resource nvidia.com/… nor devices of gpu.nvidia.com for claims`,
      ]);
      const pluginNotReady = seen(({ plugin }) => {
        plugin.ready = 0;
      });
      expect(pluginNotReady).toEqual([`DaemonSet ${set}: not ready: 0 of 1 pods`]);
      const noRuntimeClass = seen(({ all }) => {
        all.runtimeClasses = [];
      });
      expect(noRuntimeClass).toEqual(["RuntimeClass nvidia: does not exist, but pods use it"]);
    },
  );
});
