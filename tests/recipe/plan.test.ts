import { fixes, fixIds, planCluster, type FixId, type Plan } from "../../components/recipe";
import { validStack } from "./stacks";

test("machines in upgrade order, each with those it waits for", () => {
  const plan = planCluster(validStack("modern"));
  expect(plan.machines.map(({ name }) => name)).toEqual(["cp-1", "cp-2", "cp-3", "gpu-1", "gpu-2"]);
  expect(plan.after).toEqual({ "cp-1": [], "cp-2": ["cp-1"], "cp-3": ["cp-2"], "gpu-1": ["cp-3"], "gpu-2": ["cp-3"] });
});

test("the same stack gives the same plan, whatever the order of its machines", () => {
  const spec = validStack("modern");
  const reversed = { ...spec, machines: Object.fromEntries(Object.entries(spec.machines).reverse()) };
  const { spec: _, ...plan } = planCluster(spec);
  const { spec: __, ...other } = planCluster(reversed);
  expect(JSON.stringify(other)).toBe(JSON.stringify(plan));
});

test("what was assumed is noted", () => {
  expect(planCluster({ ...validStack("rtx5070ti"), talosVersion: "v1.12.40" }).notes).toEqual([
    expect.stringContaining("v1.12.40 is newer than the tables"),
  ]);
  expect(planCluster(validStack("modern")).notes).toEqual([
    expect.stringContaining("gpu-1: from Talos ≤ 1.12 to ≥ 1.13"),
    expect.stringContaining("machines.gpu-1.powerLimit: whether the RTX 4090 takes 400 W is not known here"),
  ]);
  const withCard = (gpu: object, powerLimit?: number): string[] => {
    const stack: any = structuredClone(validStack("rtx5070ti"));
    const name = Object.keys(stack.machines)[0]!;
    stack.machines[name] = { ...stack.machines[name], gpus: [gpu], ...(powerLimit ? { powerLimit } : {}) };
    return planCluster(stack).notes;
  };
  expect(withCard({ model: "RTX 6090", architecture: "Blackwell", memory: "48Gi" })).toEqual([
    expect.stringContaining('"RTX 6090" is in no table of cards, and is taken as the stack describes it (Blackwell)'),
  ]);
  expect(withCard({ model: "H200" }, 300)).toEqual([]); // a known range is judged, and needs no note
  expect(withCard({ model: "A10G" }, 150)).toEqual([expect.stringContaining("whether the A10G takes 150 W")]);
  expect(planCluster(validStack("rtx5070ti")).notes).toEqual([]);
  const mig = validStack("mig");
  const ampere = {
    ...mig,
    machines: { "dc-1": { ...mig.machines["dc-1"]!, gpus: [{ model: "A30" }] } },
    sharing: { mig: { strategy: "single", profile: "1g.6gb" } } as const,
  };
  expect(planCluster(mig).notes).toEqual([expect.stringContaining("MIG: not tried on hardware")]);
  expect(planCluster(ampere).notes).toEqual([
    expect.stringContaining("MIG: not tried on hardware"),
    expect.stringContaining("dc-1: an Ampere card changes its MIG mode by a reset"),
  ]);
});

describe("fixes", () => {
  const used = (name: string): FixId[] =>
    fixes.filter((fix) => fix.usedBy(planCluster(validStack(name)))).map((fix) => fix.id);

  const everywhere: FixId[] = ["nodeSelector", "schematic", "driverBranches"];

  test.each([
    [
      "rtx5070ti",
      [
        "validationMarkers",
        "operatorValidatorLabel",
        "modelsPull",
        "cudaImage",
        "privilegedNamespace",
        "kernelModules",
        "bpfJitHarden",
        "deviceListStrategy",
      ],
    ],
    [
      "aarhus-h100",
      ["cudaImage", "kernelModules", "runtimeClass", "bpfJitHarden", "gpuPresentLabel", "deviceListStrategy"],
    ],
    [
      "velaryon",
      [
        "cudaImage",
        "privilegedNamespace",
        "kernelModules",
        "runtimeClass",
        "bpfJitHarden",
        "gpuPresentLabel",
        "deviceListStrategy",
        "tolerations",
        "taintThroughApi",
      ],
    ],
    ["modern", ["privilegedNamespace", "kernelModules", "tolerations", "taintThroughApi"]],
  ])("%s needs %j", (name, ids) => expect(used(name).sort()).toEqual([...ids, ...everywhere].sort()));

  test("each is told with symptom, cause, remedy and source", () => {
    expect(fixes.map((fix) => fix.id)).toEqual([...fixIds]);
    for (const fix of fixes)
      for (const part of ["does", "symptom", "cause", "remedy", "source"] as const) expect(fix[part]).toMatch(/\S/);
  });

  /** What leaving a fix out may change in a plan. */
  const touched: Record<FixId, (plan: Plan) => void> = {
    validationMarkers: (plan) => {
      plan.kubernetes.markers = [];
      for (const machine of plan.machines) delete machine.nodeLabels["nvidia.com/gpu.deploy.operator-validator"];
    },
    operatorValidatorLabel: (plan) => {
      for (const machine of plan.machines) delete machine.nodeLabels["nvidia.com/gpu.deploy.operator-validator"];
    },
    nodeSelector: (plan) => {
      const stale = { "node-role.kubernetes.io/gpu": "true" };
      plan.kubernetes.nodeSelector = stale;
      if (plan.kubernetes.mode === "devicePlugin") plan.kubernetes.release.values["nodeSelector"] = stale;
    },
    driverBranches: () => {}, // another driver changes the whole image; see below
    cudaImage: (plan) => void (plan.kubernetes.smokeTestImage = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda13.0.0"),
    // Not in the plan: a workload's hook, and how the upgrade program compares.
    modelsPull: () => {},
    schematic: () => {},
    privilegedNamespace: (plan) => void (plan.kubernetes.namespaceLabels = {}),
    kernelModules: (plan) => {
      for (const machine of plan.machines) {
        machine.kernelModules = [];
        machine.patches = machine.patches.map((patch) => patch.replace(/ {2}kernel:\n {4}modules:\n( {6}- .*\n)+/, ""));
      }
    },
    runtimeClass: (plan) => void (plan.kubernetes.runtimeClass.leftOut = true),
    bpfJitHarden: (plan) => {
      for (const machine of plan.machines) {
        machine.sysctls = {};
        machine.patches = machine.patches.map((patch) => patch.replace(/ {2}sysctls:\n( {4}.*\n)+/, ""));
      }
    },
    gpuPresentLabel: (plan) => {
      for (const machine of plan.machines) delete machine.nodeLabels["nvidia.com/gpu.present"];
    },
    deviceListStrategy: ({ kubernetes: { release, mode } }) => {
      const plural = release.values as {
        deviceListStrategy: string;
        devicePlugin: { env: { name: string; value: string }[] };
      };
      if (mode === "devicePlugin") plural.deviceListStrategy = "envvars";
      else
        plural.devicePlugin.env = plural.devicePlugin.env.map((entry) =>
          entry.name === "DEVICE_LIST_STRATEGY" ? { ...entry, value: "envvars" } : entry,
        );
    },
    tolerations: ({ kubernetes }) => {
      const others = ({ key }: { key: string }): boolean => key !== "gpu";
      kubernetes.tolerations = kubernetes.tolerations.filter(others);
      kubernetes.release.values.tolerations = (kubernetes.release.values.tolerations as { key: string }[]).filter(
        others,
      );
    },
    migManager: ({ kubernetes: { markers, release } }) => {
      release.values.migManager = { enabled: true };
      for (const marker of markers)
        marker.content = marker.content.replace("IS_HOST_DRIVER=false", "IS_HOST_DRIVER=true");
    },
    taintThroughApi: (plan) => {
      for (const machine of plan.machines) {
        machine.nodeTaints = [];
        machine.patches = machine.patches.map((patch) => `${patch}  nodeTaints:\n    gpu: true:NoSchedule\n`);
      }
    },
    perMachinePatch: (plan) => {
      for (const machine of plan.machines) {
        const own = machine.patches.at(-1)!;
        machine.clusterPatch = `machine:\n${own.slice(own.indexOf("  files:\n"))}`;
      }
    },
  };

  const cases = ["rtx5070ti", "aarhus-h100", "velaryon", "frank", "omni", "mig"].flatMap((name) =>
    used(name)
      .filter((fix) => !["modelsPull", "schematic", "driverBranches"].includes(fix))
      .map((fix) => [name, fix] as const),
  );

  test("driverBranches left out: modules of lts, toolkit of production", () => {
    const [machine] = planCluster({ ...validStack("rtx5070ti"), without: ["driverBranches"] }).machines;
    expect(machine?.extensions).toEqual([
      "siderolabs/nvidia-container-toolkit-production",
      "siderolabs/nvidia-open-gpu-kernel-modules-lts",
    ]);
  });

  test.each(cases)("%s without %s: just that is gone", (name, fix) => {
    const stack = validStack(name);
    const without = { ...stack, without: [fix] };
    const expected = planCluster(stack);
    touched[fix](expected);
    expect(planCluster(without)).toEqual({ ...expected, spec: without, without: [fix] });
    expect(planCluster(without)).not.toEqual({ ...planCluster(stack), spec: without, without: [fix] });
  });

  test("a fix that is left out is still one that the stack needs", () => {
    const plan = planCluster({ ...validStack("rtx5070ti"), without: fixIds.filter((id) => id !== "driverBranches") });
    expect(fixes.filter((fix) => fix.usedBy(plan)).map((fix) => fix.id)).toEqual(used("rtx5070ti"));
  });
});
