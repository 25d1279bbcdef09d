import { diagnose, differences, inOneLine, type Observations } from "../../components/diagnosis";
import { planCluster } from "../../components/recipe/index";
import { smokeTestNames } from "../../components/recipe/cluster/smoke-test-names";
import { planOf } from "../support/plans";
import { asPlanned, readyContainer } from "./as-planned";
import { differenceCases } from "./difference-cases";
import { type ObservedCluster, observationsWith } from "./observed-cluster";
import { stacks } from "../support/stacks";

/** The stack of the table, with a device plugin and a card in eight slices. */
const plan = planOf("rtx3090");

test.each(stacks)("%s as planned has no differences, with or without its plan", (stack) => {
  const plan = planOf(stack);
  const observations = asPlanned(plan);
  expect(differences(observations, plan)).toEqual([]);
  expect(differences(observations)).toEqual([]);
  expect(diagnose(observations, plan)).toEqual([]);
  expect(diagnose(observations)).toEqual([]);
});

test.each(differenceCases)(
  "exactly the expected differences and causes are reported for $name",
  ({ change, differences: expected, causes = [], remedy }) => {
    const observations = observationsWith(plan, change);
    if (remedy) expect(differences(observations, plan)[0]!.remedy).toContain(remedy);
    expect(differences(observations, plan).map(inOneLine)).toEqual(expected);
    expect(diagnose(observations, plan).map(({ fix }) => fix)).toEqual(causes);
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
  const planWithImage = planCluster({ ...plan.spec, machines: Object.fromEntries(machines) });
  const observations = asPlanned(planWithImage) as Required<Observations>;
  Object.assign(observations.machines[0]!, { schematicId: undefined, extensions: ["custom"] });
  expect(differences(observations, planWithImage)).toEqual([]);
  expect(diagnose(observations, planWithImage)).toEqual([]);
  observations.machines[0]!.installImage = "factory.talos.dev/x:v1";
  expect(differences(observations, planWithImage).map(inOneLine)).toEqual([
    expect.stringMatching(
      /is configured for the image factory\.talos\.dev\/x:v1, the plan says registry/,
    ),
  ]);
});

/** The problems that are reported if a change makes the cluster differ from its plan. */
const problemsAfter = (change: (cluster: ObservedCluster) => void, comparedPlan = plan): string[] =>
  differences(observationsWith(comparedPlan, change), comparedPlan).map(({ problem }) => problem);

test.each([
  ["7", []],
  ["1", []],
  ["0", ["offers 0 of nvidia.com/gpu, the plan says at least 1"]],
])(
  "if a node offers %s of nvidia.com/gpu for a card with unknown MIG geometry, the differences are %j",
  (units, expected) => {
    const machines = {
      rtx3090: {
        ...plan.spec.machines["rtx3090"],
        gpus: [{ model: "NVIDIA X100 80GB", architecture: "Hopper" }],
      },
    };
    const unknownCardPlan = planOf("rtx3090", {
      machines,
      sharing: { mig: { strategy: "single", profile: "all-1g.10gb" } },
    });
    const problems = problemsAfter(({ node }) => {
      node.allocatable = { "nvidia.com/gpu": units };
    }, unknownCardPlan);
    expect(problems).toEqual(expected);
  },
);

test("a containerd part is reported if it lacks a key of the stack, but not for further keys", () => {
  const machines = {
    rtx3090: { ...plan.spec.machines["rtx3090"], containerd: { cdiSpecDirs: ["/var/cdi"] } },
  };
  const planWithPart = planOf("rtx3090", { machines });
  const plannedPart = planWithPart.machines[0]!.containerdPart!;
  const problemsWith = (part: string): string[] =>
    problemsAfter(({ machine }) => {
      machine.containerdPart = part;
    }, planWithPart);
  expect(problemsWith(`${plannedPart}\n[debug]\nlevel = "info"\n`)).toEqual([]);
  expect(problemsWith("")).toEqual([
    '/etc/cri/conf.d/20-customization.part is stale: it lacks plugins."io.containerd.cri.v1.runtime".cdi_spec_dirs',
  ]);
});

test("on Talos 1.14 a document that overrides the containerd part is reported", () => {
  const versions = { talosVersion: "v1.14.1", kubernetesVersion: "v1.36.0" };
  const machines = {
    rtx3090: { ...plan.spec.machines["rtx3090"], containerd: { nvidiaDefaultRuntime: true } },
  };
  const planWithPart = planOf("rtx3090", { ...versions, machines });
  const part = planWithPart.machines[0]!.containerdPart!;
  const problemsWith = (mergedContainerd: string): string[] =>
    problemsAfter(({ machine }) => {
      machine.mergedContainerd = mergedContainerd;
      machine.containerdPart = part;
    }, planWithPart).filter((problem) => problem.includes("cri.toml"));
  expect(problemsWith(`version = 3\n${part}`)).toEqual([]);
  const overridden = part.replace('"nvidia"', '"runc"');
  expect(
    problemsWith(`## in-memory customization "zz" (sha256:aa)\nversion = 3\n${overridden}`),
  ).toEqual([
    expect.stringMatching(
      /^\/etc\/cri\/conf\.d\/cri\.toml lacks .*default_runtime_name\. CRICustomizationConfig zz/,
    ),
  ]);
});

test("a containerd that is down is reported although the machine is running", () => {
  const problemsWith = (state: string): string[] =>
    problemsAfter(({ machine }) => {
      machine.services = { ...machine.services, cri: state };
    });
  expect(problemsWith("Running")).toEqual([]);
  expect(problemsWith("Waiting")).toEqual(["service cri is Waiting: no pod starts"]);
});

test("a GPU node without labels of Node Feature Discovery is reported if the operator needs them", () => {
  const removeLabel = ({ node }: ObservedCluster): void => {
    delete node.labels["feature.node.kubernetes.io/pci-0300_10de.present"];
  };
  expect(problemsAfter(removeLabel, planOf("rtx5070ti"))).toEqual([
    expect.stringMatching(/^lacks the label .*pci-10de.*reports no card/),
  ]);
  expect(problemsAfter(removeLabel, plan)).toEqual([]);
});

test("for a release newer than the tables only the driver's branch is compared", () => {
  const newerPlan = planOf("rtx5070ti", { talosVersion: "v1.12.99" });
  const problemsWith = (driverVersion: string): string[] =>
    problemsAfter(({ machine }) => {
      machine.driverVersion = driverVersion;
    }, newerPlan);
  expect(problemsWith("570.999.01")).toEqual([]);
  expect(problemsWith("535.1.1")).toEqual([
    expect.stringContaining("NVIDIA driver 535.1.1 is loaded, the plan says 570."),
  ]);
});

test("a passed test does not count for a machine with a similar name", () => {
  const names = ["1", "2"].map((last) => `gpu-node-of-the-second-rack-in-room-${last}`);
  const settings = { role: "worker", configuration: "adopted", gpus: [{ model: "H100 NVL" }] };
  const machines = Object.fromEntries(
    names.map((name, index) => [name, { address: `192.0.2.${index + 1}`, ...settings }]),
  );
  const planOfBoth = planOf("aarhus-h100", { machines });
  const namespace = planOfBoth.kubernetes.release.namespace;
  const jobs = [...smokeTestNames(names).values()].map((name, succeeded) => ({
    namespace,
    name: `${name}-abcdef-12345678`,
    succeeded,
  }));
  expect(differences({ ...asPlanned(planOfBoth), jobs }, planOfBoth).map(inOneLine)).toEqual([
    `Job ${namespace}/${jobs[0]!.name}: the smoke test has not passed`,
  ]);
});

test("in kube-system only the GPU provider is compared", () => {
  const sharedPlan = planOf("aarhus-h100");
  const brokenDeployment = (name: string) => ({
    namespace: "kube-system",
    name,
    desired: 1,
    ready: 0,
  });
  const deployments = [
    brokenDeployment("my-csi"),
    brokenDeployment("node-feature-discovery-master"),
  ];
  expect(sharedPlan.kubernetes.release.namespace).toBe("kube-system");
  expect(
    differences({ ...asPlanned(sharedPlan), deployments }, sharedPlan).map(({ about }) => about),
  ).toEqual(["Deployment kube-system/node-feature-discovery-master"]);
});

const plugin = "nvidia-device-plugin-rtx3090";
const offerNothing = ({ node }: ObservedCluster): void => {
  node.allocatable = {};
};

test("the last messages of a crashed container are quoted in order", () => {
  const observations = observationsWith(plan, (cluster) => {
    cluster.plugin.ready = 0;
    const lastMessage = "I1121 starting\nE1121 panic";
    cluster.pod(plugin).containers = [
      { name: "ctr", state: "waiting", reason: "CrashLoopBackOff", lastMessage },
    ];
  });
  expect(differences(observations, plan)).toMatchObject([
    {
      problem: "not ready: 0 of 1 pods",
      lastWords: [
        `Pod/${plugin} ctr: CrashLoopBackOff`,
        `Pod/${plugin} ctr: I1121 starting`,
        `Pod/${plugin} ctr: E1121 panic`,
      ],
    },
  ]);
});

test("without a plan, the log of a ready plugin that offers no card is quoted", () => {
  const observations = observationsWith(plan, (cluster) => {
    offerNothing(cluster);
    const log = "No devices found. Waiting indefinitely.";
    cluster.pod(plugin).containers = [{ ...readyContainer, log }];
  });
  expect(differences(observations)).toMatchObject([
    {
      problem:
        "has a GPU, but pods cannot request it: the node has no resource nvidia.com/… and no device of the DeviceClass gpu.nvidia.com",
      lastWords: [`Pod/${plugin} main: No devices found. Waiting indefinitely.`],
    },
  ]);
});

test("parts that were not observed cause no difference", () => {
  for (const stack of stacks) expect(differences({}, planOf(stack))).toEqual([]);
  expect(differences({})).toEqual([]);
});

describe("without a plan", () => {
  const differencesIn = (observations: Observations): string[] =>
    differences(observations).map(inOneLine);

  test("an empty cluster and a cluster without GPUs are reported", () => {
    const noNode =
      "cluster: no node has a GPU: no node has NVIDIA's extensions, Node Feature Discovery's label for a card, or a resource nvidia.com/…";
    const noProvider =
      "cluster: has no GPU Operator, no device plugin of NVIDIA and no DRA driver, so pods cannot request GPUs";
    const empty = { nodes: [], pods: [], daemonSets: [] };
    expect(differencesIn(empty)).toEqual([noNode, noProvider]);
    expect(
      differencesIn({ ...empty, nodes: [{ name: "a", labels: {}, allocatable: { cpu: "4" } }] }),
    ).toEqual([noNode, noProvider]);
  });

  test.each([
    ["aarhus-h100", "kube-system/nvidia-device-plugin"],
    ["rtx5070ti", "nvidia-gpu-operator/nvidia-device-plugin-daemonset"],
  ])(
    "%s: a node without GPUs, a plugin that is not ready and a missing RuntimeClass are reported",
    (stack, daemonSet) => {
      const differencesAfter = (change: (cluster: ObservedCluster) => void): string[] =>
        differencesIn(observationsWith(planOf(stack), change));
      const { name } = planOf(stack).machines[0]!;
      expect(differencesAfter(offerNothing)).toEqual([
        `node ${name}: has a GPU, but pods cannot request it: the node has no resource nvidia.com/… and no device of the DeviceClass gpu.nvidia.com`,
      ]);
      const pluginNotReady = differencesAfter(({ plugin }) => {
        plugin.ready = 0;
      });
      expect(pluginNotReady).toEqual([`DaemonSet ${daemonSet}: not ready: 0 of 1 pods`]);
      const noRuntimeClass = differencesAfter(({ observations }) => {
        observations.runtimeClasses = [];
      });
      expect(noRuntimeClass).toEqual(["RuntimeClass nvidia: does not exist, but pods use it"]);
    },
  );
});
