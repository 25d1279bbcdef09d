import { diagnose, planCluster, type FixId, type Observations, type Plan } from "../../components/recipe";
import { validStack } from "./stacks";

const without = (name: string, ...fixes: FixId[]): Plan => planCluster({ ...validStack(name), without: fixes });
const found = (seen: Observations, plan: Plan): FixId[] => diagnose(seen, plan).map((diagnosis) => diagnosis.fix);

const operator = "nvidia-gpu-operator";
const waiting = (name: string, container: string): NonNullable<Observations["pods"]>[number] => ({
  namespace: operator,
  name,
  phase: "Pending",
  node: "k8s-worker4",
  initContainers: [{ name: container, state: "running", ready: false }],
  containers: [{ name: "main", state: "waiting", ready: false, reason: "PodInitializing" }],
});

/** What is seen on the operator's stack while the plugin waits: it looks alike with and without a driver. */
const stuck: Observations = {
  pods: [
    waiting("nvidia-device-plugin-daemonset-x", "toolkit-validation"),
    waiting("gpu-feature-discovery-x", "toolkit-validation"),
    waiting("nvidia-operator-validator-x", "driver-validation"),
  ],
  daemonSets: [{ namespace: operator, name: "nvidia-device-plugin-daemonset", desired: 1, ready: 0 }],
  nodes: [{ name: "k8s-worker4", labels: { "nvidia.com/gpu.present": "true" }, allocatable: {}, ready: true }],
  machines: [
    {
      name: "k8s-worker4",
      modules: ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"],
      driverVersion: "570.211.01",
      services: { "ext-nvidia-persistenced": "Running" },
    },
  ],
  runtimeClasses: ["nvidia"],
};

const noDriver: Observations["machines"] = [
  {
    name: "k8s-worker4",
    modules: ["drm"],
    driverVersion: null,
    services: { "ext-nvidia-persistenced": "Waiting" },
    errors: [],
  },
];
const bpf =
  "failed to create containerd task: nvidia-container-cli: mount error: failed to create device filter: failed to add device rules: unable to generate new device filter program from existing programs: unable to create new device filters program: load program: invalid argument: last insn is not an exit or jmp\nprocessed 0 insns";

describe("each fix by what is seen without it", () => {
  test("validationMarkers", () => {
    const [diagnosis, ...more] = diagnose(stuck, without("rtx5070ti", "validationMarkers"));
    expect(more).toEqual([]);
    expect(diagnosis).toMatchObject({ fix: "validationMarkers", remedy: "take validationMarkers out of `without`" });
    expect(diagnosis?.evidence).toContain(
      "Pod/nvidia-device-plugin-daemonset-x: Init, toolkit-validation does not end",
    );
  });

  test("privilegedNamespace", () => {
    const message =
      'Error creating: pods "nvidia-gpu-operator-node-feature-discovery-worker-" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volumes "host-boot")';
    const seen: Observations = {
      daemonSets: [
        { namespace: operator, name: "node-feature-discovery-worker", desired: 1, ready: 0, events: [message] },
      ],
      events: [{ namespace: operator, object: "DaemonSet/nvidia-validation-markers", reason: "FailedCreate", message }],
      nodes: [{ name: "k8s-worker4", labels: {} }],
    };
    expect(found(seen, without("rtx5070ti", "privilegedNamespace"))).toEqual(["privilegedNamespace"]);
  });

  test("kernelModules", () => {
    const [diagnosis] = diagnose({ machines: noDriver ?? [] }, without("rtx5070ti", "kernelModules"));
    expect(diagnosis).toMatchObject({
      fix: "kernelModules",
      evidence: ["k8s-worker4: no module nvidia is loaded", "k8s-worker4: ext-nvidia-persistenced is Waiting"],
    });
  });

  test("bpfJitHarden", () => {
    const seen: Observations = {
      ...stuck,
      pods: [
        {
          namespace: "kube-system",
          name: "nvidia-device-plugin-x",
          phase: "Pending",
          containers: [{ name: "ctr", state: "waiting", reason: "RunContainerError", message: bpf }],
        },
      ],
    };
    for (const stack of ["rtx5070ti", "aarhus-h100"])
      expect(found(seen, without(stack, "bpfJitHarden"))).toEqual(["bpfJitHarden"]);
    expect(diagnose(seen, without("aarhus-h100", "bpfJitHarden"))[0]?.evidence[0]).toContain(
      "last insn is not an exit or jmp",
    );
  });

  test.each([
    'Error creating: pods "nvidia-device-plugin-" is forbidden: pod rejected: RuntimeClass "nvidia" not found',
    'pods "smoke" is forbidden: pod rejected: runtimeclass.node.k8s.io "nvidia" not found',
  ])("runtimeClass: %s", (message) => {
    const seen: Observations = {
      daemonSets: [{ namespace: "kube-system", name: "nvidia-device-plugin", desired: 1, ready: 0, events: [message] }],
      runtimeClasses: [],
    };
    expect(found(seen, without("aarhus-h100", "runtimeClass"))).toEqual(["runtimeClass"]);
  });

  test("gpuPresentLabel", () => {
    const seen: Observations = {
      daemonSets: [{ namespace: "kube-system", name: "nvidia-device-plugin", desired: 0, ready: 0 }],
      nodes: [{ name: "talos-gpu", labels: { "kubernetes.io/os": "linux" }, allocatable: {}, ready: true }],
      runtimeClasses: ["nvidia"],
      machines: [{ name: "talos-gpu", modules: ["nvidia"], driverVersion: "570.172.08" }],
    };
    const [diagnosis] = diagnose(seen, without("aarhus-h100", "gpuPresentLabel"));
    expect(diagnosis).toMatchObject({
      fix: "gpuPresentLabel",
      evidence: ["DaemonSet/nvidia-device-plugin wants 0 pods", "node talos-gpu lacks nvidia.com/gpu.present=true"],
    });
  });
});

describe("each fix of tainted nodes and of the plugin's options", () => {
  const velaryon = (taints: string[]): Observations => ({ nodes: [{ name: "velaryon", labels: {}, taints }] });
  const pending = (text: string): NonNullable<Observations["events"]> => [
    {
      namespace: "nvidia-device-plugin",
      object: "Pod/gpu-smoke-test-x",
      reason: "FailedScheduling",
      message: `0/1 nodes are available: ${text}`,
    },
  ];

  test("deviceListStrategy, by what the plugin said before it was started again", () => {
    const refused = "invalid --device-list-strategy option: invalid strategy: envvars";
    const seen = (namespace: string): Observations => ({
      pods: [
        {
          namespace,
          name: "nvidia-device-plugin-x",
          phase: "Running",
          containers: [{ name: "ctr", state: "waiting", reason: "CrashLoopBackOff", lastMessage: refused }],
        },
      ],
    });
    expect(found(seen("kube-system"), without("aarhus-h100", "deviceListStrategy"))).toEqual(["deviceListStrategy"]);
    expect(found(seen("elsewhere"), without("aarhus-h100", "deviceListStrategy"))).toEqual([]);
  });

  test.each(["1 node(s) had untolerated taint {gpu: true}.", "1 node(s) had untolerated taint(s)."])(
    "tolerations: %s",
    (text) => {
      const seen = { ...velaryon(["gpu=true:NoSchedule"]), events: pending(text) };
      expect(found(seen, without("velaryon", "tolerations"))).toEqual(["tolerations"]);
    },
  );

  test("a taint of somebody else's is no missing toleration of ours", () => {
    const seen = {
      ...velaryon(["gpu=true:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"]),
      events: pending("1 node(s) had untolerated taint(s)."),
    };
    expect(found(seen, without("velaryon", "tolerations"))).toEqual([]);
  });

  test("taintThroughApi", () => {
    const [diagnosis] = diagnose(velaryon(["other:NoSchedule"]), without("velaryon", "taintThroughApi"));
    expect(diagnosis).toMatchObject({ fix: "taintThroughApi", evidence: ["node velaryon lacks gpu=true:NoSchedule"] });
    expect(found(velaryon(["gpu=true:NoSchedule"]), without("velaryon", "taintThroughApi"))).toEqual([]);
  });
});

describe("causes, not consequences", () => {
  test("without a driver pods wait like without markers", () => {
    expect(found({ ...stuck, machines: noDriver ?? [] }, without("rtx5070ti", "kernelModules"))).toEqual([
      "kernelModules",
    ]);
  });

  test("pods that are refused write no markers", () => {
    const refused: Observations = {
      ...stuck,
      events: [
        {
          namespace: operator,
          object: "DaemonSet/nvidia-validation-markers",
          message: 'violates PodSecurity "baseline:latest"',
        },
      ],
    };
    expect(found(refused, without("rtx5070ti", "privilegedNamespace"))).toEqual(["privilegedNamespace"]);
  });

  test("two causes are both named", () => {
    const seen: Observations = {
      machines: noDriver ?? [],
      events: [{ namespace: operator, object: "ReplicaSet/x", message: 'violates PodSecurity "baseline:latest"' }],
    };
    expect(found(seen, without("rtx5070ti", "kernelModules", "privilegedNamespace"))).toEqual([
      "kernelModules",
      "privilegedNamespace",
    ]);
  });
});

describe("no false alarm", () => {
  test.each(["rtx5070ti", "aarhus-h100", "modern"])("%s: nothing seen, nothing said", (name) =>
    expect(diagnose({}, planCluster(validStack(name)))).toEqual([]),
  );

  test("pods that wait a moment while the markers are kept", () => {
    const seen: Observations = {
      ...stuck,
      daemonSets: [{ namespace: operator, name: "nvidia-validation-markers", desired: 1, ready: 1 }],
      nodes: [{ name: "k8s-worker4", labels: { "nvidia.com/gpu.deploy.operator-validator": "false" } }],
    };
    expect(found(seen, planCluster(validStack("rtx5070ti")))).toEqual([]);
  });

  test("waiting on Talos 1.13 is not for markers", () => {
    const pods = (stuck.pods ?? []).map((pod) => ({ ...pod, namespace: "gpu-operator" }));
    expect(found({ pods }, planCluster(validStack("modern")))).toEqual([]);
  });

  test("a machine that runs another image has no driver for another reason", () => {
    expect(
      found(
        { machines: [{ name: "k8s-worker4", schematicId: "376567988ad3", modules: [] }] },
        planCluster(validStack("rtx5070ti")),
      ),
    ).toEqual([]);
  });

  test("a machine without a GPU needs none", () => {
    expect(found({ machines: [{ name: "mini-1", modules: [] }] }, planCluster(validStack("frank")))).toEqual([]);
  });

  test("somebody else's namespace", () => {
    expect(
      found(
        { events: [{ namespace: "media", object: "ReplicaSet/x", message: 'violates PodSecurity "baseline:latest"' }] },
        planCluster(validStack("rtx5070ti")),
      ),
    ).toEqual([]);
  });

  test("a RuntimeClass that is there by now", () => {
    const seen: Observations = {
      events: [{ object: "Pod/x", message: 'RuntimeClass "nvidia" not found' }],
      runtimeClasses: ["nvidia"],
    };
    expect(found(seen, planCluster(validStack("aarhus-h100")))).toEqual([]);
  });

  test("a RuntimeClass that the stack has not come to yet", () =>
    expect(found({ runtimeClasses: [] }, planCluster(validStack("aarhus-h100")))).toEqual([]));
});

test("where the stack has the fix, the advice is another one", () => {
  const [diagnosis] = diagnose(stuck, planCluster(validStack("rtx5070ti")));
  expect(diagnosis?.fix).toBe("validationMarkers");
  expect(diagnosis?.remedy).toContain("the stack has this fix");
});
