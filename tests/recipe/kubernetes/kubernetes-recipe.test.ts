import { planCluster, type ClusterSpec, type KubernetesRecipe } from "../../../components/recipe/index";
import { oneMachine, validStack } from "../stacks";

const kubernetes = (spec: ClusterSpec): KubernetesRecipe => planCluster(spec).kubernetes;
const gpu = { gpus: [{ model: "H100 NVL", count: 2 }] };
const operator = (version: string, values?: Record<string, unknown>): Partial<ClusterSpec> => ({
  gpuOperator: { version, ...(values ? { values } : {}) },
});

describe("GPU Operator", () => {
  // What a stack has by default, on Talos 1.11 to 1.13, is in the plans of tests/fixtures/plans.
  test("a release may be written without its v", () =>
    expect(kubernetes(oneMachine("v1.13.9", gpu, operator("26.3.3"))).release.version).toBe("v26.3.3"));

  test("a user who lets the operator manage a driver gets its marker too", () => {
    expect(
      kubernetes(oneMachine("v1.12.6", gpu, operator("v25.10.1", { driver: { enabled: true } }))).markers.map(
        ({ file }) => file,
      ),
    ).toContain(".driver-ctr-ready");
  });

  test("values of the user go over ours; a variable more does not take ours away", () => {
    const values = {
      devicePlugin: { env: [{ name: "DP_DISABLE_HEALTHCHECKS", value: "109" }] },
      dcgmExporter: { enabled: false },
      migManager: { enabled: true },
    };
    expect(kubernetes(oneMachine("v1.12.6", gpu, operator("v25.10.1", values))).release.values).toMatchObject({
      devicePlugin: {
        env: [
          { name: "DEVICE_LIST_STRATEGY", value: "envvar" },
          { name: "DP_DISABLE_HEALTHCHECKS", value: "109" },
        ],
      },
      dcgmExporter: { enabled: false },
      migManager: { enabled: true },
    });
    const strategy = { devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "volume-mounts" }] } };
    expect(kubernetes(oneMachine("v1.12.6", gpu, operator("v25.10.1", strategy))).release.values).toMatchObject(
      strategy,
    );
  });
});

describe("standalone plugin", () => {
  const on113 = (values: Record<string, unknown>): ClusterSpec => {
    const spec = { ...oneMachine("v1.13.9", gpu), devicePlugin: { version: "0.19.3", values } };
    delete spec.gpuOperator;
    return spec;
  };

  test("the MIG strategy is said always, unless a configuration of the user's says it", () => {
    const strategy = (values?: Record<string, unknown>, sharing?: ClusterSpec["sharing"]): unknown => {
      const devicePlugin = { version: "0.18.2", ...(values ? { values } : {}) };
      const spec = { ...oneMachine("v1.11.6", gpu), devicePlugin, ...(sharing ? { sharing } : {}) };
      delete spec.gpuOperator;
      return kubernetes(spec).release.values["migStrategy"];
    };
    expect(strategy()).toBe("none");
    expect(strategy(undefined, { timeSlicing: { replicas: 4 } })).toBe("none");
    expect(strategy({ migStrategy: "mixed" })).toBe("mixed");
    expect(strategy({ config: { map: { default: "version: v1\nflags: { migStrategy: single }\n" } } })).toBeUndefined();
  });

  test("on Talos 1.13 by CDI, which gives a card to a pod of any runtime", () => {
    expect(kubernetes(on113({})).release.values).toMatchObject({
      ...{ deviceListStrategy: "cdi-cri", runtimeClassName: "nvidia", nvidiaDriverRoot: "/" },
    });
  });

  test.each([
    ["the variable is asked for", { deviceListStrategy: "envvar" }, "0.19.3"],
    ["the driver's root is another one", { nvidiaDriverRoot: "/usr/local" }, "0.19.3"],
    ["the plugin is older than the tables", {}, "0.14.5"],
  ])("on Talos 1.13 by the variable, where %s", (_, values, version) => {
    const spec = { ...on113(values), devicePlugin: { version, values } };
    const { release } = kubernetes(spec);
    expect(release.values["deviceListStrategy"]).toBe("envvar");
    expect(release.values["nvidiaDriverRoot"]).not.toBe("/");
  });

  test.each(["cdi-cri", "cdi-annotations", "envvar,cdi-cri"])("%s on Talos 1.13: with the host's root", (strategy) => {
    const values = { deviceListStrategy: strategy };
    expect(kubernetes(on113(values)).release.values).toMatchObject({ ...values, nvidiaDriverRoot: "/" });
    const own = { ...values, nvidiaDriverRoot: "/driver" };
    expect(kubernetes(on113(own)).release.values).toMatchObject(own);
  });
});

describe("taints", () => {
  test("are tolerated by everything, NVIDIA's own included", () => {
    const { tolerations, release } = kubernetes(validStack("modern"));
    expect(tolerations).toEqual([
      { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
      { key: "gpu", operator: "Equal", value: "true", effect: "NoSchedule" },
    ]);
    expect(release.values).toMatchObject({
      daemonsets: { tolerations },
      "node-feature-discovery": {
        worker: { tolerations: [{ key: "node-role.kubernetes.io/control-plane" }, ...tolerations] },
      },
    });
  });

  test.each([
    "machine: {kubelet: {extraArgs: {register-with-taints: 'workload=ai:NoSchedule,gpu:NoExecute'}}}\n",
    "machine: {kubelet: {extraArgs: {register-with-taints: ['workload=ai:NoSchedule', 'gpu:NoExecute']}}}\n",
    "machine: {kubelet: {extraConfig: {registerWithTaints: [{key: workload, value: ai, effect: NoSchedule}, {key: gpu, effect: NoExecute}]}}}\n",
    "machine: {nodeTaints: {workload: 'ai:NoSchedule', gpu: ':NoExecute'}}\n",
    "apiVersion: v1alpha1\nkind: KubeletConfig\nconfig: {registerWithTaints: [{key: workload, value: ai, effect: NoSchedule}, {key: gpu, effect: NoExecute}]}\n",
    "apiVersion: v1alpha1\nkind: KubeNodeConfig\ntaints: {workload: 'ai:NoSchedule', gpu: ':NoExecute'}\n",
  ])("of a patch are tolerated, and stay its author's: %#", (patch) => {
    const plan = planCluster(oneMachine("v1.14.0", { ...gpu, patches: [patch] }));
    expect(plan.kubernetes.tolerations).toEqual([
      { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
      { key: "workload", operator: "Equal", value: "ai", effect: "NoSchedule" },
      { key: "gpu", operator: "Exists", effect: "NoExecute" },
    ]);
    expect(plan.machines[0]!.nodeTaints).toEqual([]);
  });

  const tainted = { ...gpu, taints: { gpu: "true:NoSchedule" } };
  const taint = { key: "gpu", operator: "Equal", value: "true", effect: "NoSchedule" };
  const everywhere = expect.arrayContaining([
    taint,
    { key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" },
  ]);

  test("where every machine has one, the operator and Node Feature Discovery tolerate it in all their parts", () => {
    const values = {
      "node-feature-discovery": { master: { tolerations: everywhere }, gc: { tolerations: everywhere } },
    };
    const wanted = { ...values, operator: { tolerations: everywhere } };
    expect(kubernetes(oneMachine("v1.12.6", tainted, operator("v25.10.1"))).release.values).toMatchObject(wanted);
    const soft = { ...gpu, taints: { gpu: "true:PreferNoSchedule" } };
    for (const free of [gpu, soft])
      expect(kubernetes(oneMachine("v1.12.6", free, operator("v25.10.1"))).release.values).not.toHaveProperty(
        "operator",
      );
  });

  test.each([{ gfd: { enabled: true } }, { nfd: { enabled: true } }])(
    "the device plugin's Node Feature Discovery tolerates them with %j, and is not spoken of without",
    (values) => {
      const stack = (said: object): ClusterSpec =>
        oneMachine("v1.12.6", tainted, {
          gpuOperator: undefined,
          devicePlugin: { version: "0.18.2", ...said },
        } as never);
      const tolerations = everywhere;
      expect(kubernetes(stack({ values })).release.values["nfd"]).toMatchObject({
        worker: { tolerations },
        master: { tolerations },
        gc: { tolerations },
      });
      expect(kubernetes(stack({})).release.values).not.toHaveProperty("nfd");
    },
  );

  test("NVIDIA's taint needs no second toleration", () => {
    expect(
      kubernetes(oneMachine("v1.12.6", { ...gpu, taints: { "nvidia.com/gpu": "present:NoSchedule" } })).tolerations,
    ).toHaveLength(1);
    expect(
      kubernetes(oneMachine("v1.12.6", { ...gpu, taints: { "nvidia.com/gpu": "present:NoExecute" } })).tolerations,
    ).toHaveLength(2);
  });
});

describe("CUDA", () => {
  test.each([
    ["v1.9.6", "RTX 3090", {}, "12.4", "vectoradd-cuda11.7.1-ubuntu20.04"],
    ["v1.12.6", "RTX 5070 Ti", { branch: "lts" }, "13.0", "vectoradd-cuda12.5.0"],
    ["v1.13.9", "L4", {}, "13.2", "vectoradd-cuda12.5.0"],
    ["v1.13.9", "TITAN V", {}, "12.9", "vectoradd-cuda12.5.0"],
  ] as const)("%s, %s %j: up to %s", (talosVersion, model, driver, cuda, tag) => {
    const recipe = kubernetes(oneMachine(talosVersion, { gpus: [{ model }] }, { driver }));
    expect(recipe.cudaVersion).toBe(cuda);
    expect(recipe.smokeTestImage).toBe(`nvcr.io/nvidia/k8s/cuda-sample:${tag}`);
  });

  test("the oldest driver decides", () => expect(kubernetes(validStack("three-generations")).cudaVersion).toBe("12.9"));
  test("a smoke test of the user's", () =>
    expect(kubernetes({ ...validStack("modern"), smokeTestImage: "x:1" }).smokeTestImage).toBe("x:1"));
});
