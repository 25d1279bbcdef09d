import { parse } from "yaml";
import { findingsOf, planCluster, type ClusterSpec } from "../../../components/recipe/index";
import { oneMachine } from "../stacks";

const gpu = { gpus: [{ model: "H100 NVL", count: 2 }] };
const shared = (sharing: ClusterSpec["sharing"], version = "v1.12.6") =>
  planCluster(oneMachine(version, gpu, { gpuOperator: { version: "v26.3.3" }, ...(sharing ? { sharing } : {}) }));

test("none", () => {
  const plan = shared(undefined);
  expect(plan.kubernetes.sharingConfig).toBeUndefined();
  expect(plan.machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": 2 });
});

test("time slicing", () => {
  const plan = shared({ timeSlicing: { replicas: 4 } });
  expect(parse(plan.kubernetes.sharingConfig ?? "")).toEqual({
    version: "v1",
    sharing: {
      timeSlicing: {
        renameByDefault: false,
        failRequestsGreaterThanOne: true,
        resources: [{ name: "nvidia.com/gpu", replicas: 4 }],
      },
    },
  });
  expect(plan.machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": 8 });
  expect(plan.kubernetes.release.values).toMatchObject({
    devicePlugin: { config: { create: true, default: "default", data: { default: plan.kubernetes.sharingConfig } } },
  });
});

test("time slicing under another name", () => {
  const plan = shared({ timeSlicing: { replicas: 3, renameByDefault: true } });
  expect(plan.kubernetes.resourceName).toBe("nvidia.com/gpu.shared");
  expect(plan.machines[0]?.allocatable).toEqual({ "nvidia.com/gpu.shared": 6 });
});

test("with mixed MIG, workloads get the smallest devices by memory, not by the alphabet", () => {
  const spec = oneMachine(
    "v1.12.6",
    { gpus: [{ model: "A100-SXM4-40GB" }] },
    { gpuOperator: { version: "v26.3.3" }, sharing: { mig: { strategy: "mixed", profile: "all-balanced" } } },
  );
  const [first] = Object.values(spec.machines);
  const larger = { ...first!, address: "10.0.0.99", gpus: [{ model: "A100-SXM4-80GB" }] };
  const both = planCluster({ ...spec, machines: { ...spec.machines, larger } });
  expect(both.kubernetes.resourceName).toBe("nvidia.com/mig-1g.5gb");
});

test("time slicing of MIG devices", () => {
  const mig = { strategy: "single", profile: "1g.12gb" } as const;
  expect(shared({ mig, timeSlicing: { replicas: 2 } }).machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": 28 });
});

test.each([
  [{ strategy: "single", profile: "1g.12gb" }, { "nvidia.com/gpu": 14 }, "nvidia.com/gpu", "all-1g.12gb"],
  [
    { strategy: "mixed", profile: "all-3g.47gb" },
    { "nvidia.com/mig-3g.47gb": 4 },
    "nvidia.com/mig-3g.47gb",
    "all-3g.47gb",
  ],
  [
    { strategy: "mixed", profile: "all-balanced" },
    { "nvidia.com/mig-1g.12gb": 4, "nvidia.com/mig-2g.24gb": 2, "nvidia.com/mig-3g.47gb": 2 },
    "nvidia.com/mig-1g.12gb",
    "all-balanced",
  ],
  [
    { strategy: "mixed", profile: "1g.12gb+me" },
    { "nvidia.com/mig-1g.12gb.me": 2 },
    "nvidia.com/mig-1g.12gb.me",
    "all-1g.12gb.me",
  ],
  [{ strategy: "single", profile: "all-disabled" }, { "nvidia.com/gpu": 2 }, "nvidia.com/gpu", "all-disabled"],
] as const)("MIG %j", (mig, allocatable, resource, config) => {
  const plan = shared({ mig });
  expect(plan.machines[0]?.allocatable).toEqual(allocatable);
  expect(plan.kubernetes.resourceName).toBe(resource);
  expect(plan.machines[0]?.nodeLabels["nvidia.com/mig.config"]).toBe(config);
  expect(plan.kubernetes.release.values).toMatchObject({
    mig: { strategy: mig.strategy },
    migManager: { enabled: true },
  });
  expect(plan.notes.join()).toContain("MIG");
});

test.each([
  ["H20", "1g.12gb", 7],
  ["NVIDIA GH200 480GB", "3g.48gb", 2],
  ["NVIDIA GH200 144G HBM3e", "all-1g.18gb", 7],
  ["NVIDIA B300 SXM6 AC", "1g.34gb", 7],
  ["NVIDIA GB200", "1g.47gb", 4],
  ["NVIDIA GB300", "2g.70gb", 3],
  ["NVIDIA A800-SXM4-80GB", "1g.10gb", 7],
  ["NVIDIA A800 80GB PCIe", "2g.20gb", 3],
  ["NVIDIA A800 40GB Active", "1g.5gb", 7],
  ["NVIDIA H800", "1g.10gb", 7],
  ["NVIDIA H800 PCIe", "3g.40gb", 2],
  ["NVIDIA H800 NVL", "1g.12gb", 7],
  ["RTX PRO 6000 Blackwell Workstation Edition", "1g.24gb+gfx", 4],
  ["RTX PRO 6000 Blackwell Max-Q Workstation Edition", "2g.48gb-me", 2],
])("an %s is split into %s", (model, profile, devices) => {
  const sharing = { mig: { strategy: "single", profile } } as const;
  const spec = oneMachine("v1.13.9", { gpus: [{ model }] }, { gpuOperator: { version: "v26.3.3" }, sharing });
  expect(planCluster(spec).machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": devices });
  expect(planCluster(spec).notes.filter((note) => /profiles/.test(note))).toEqual([]);
});

// Cards that no table has a geometry of: one is described, the other stands in the list of PCI IDs alone.
test.each([
  ["single", "nvidia.com/gpu"],
  ["mixed", "nvidia.com/mig-1g.10gb"],
] as const)(
  "a card of unknown MIG geometry, strategy %s: one instance at least, and no request is too much",
  (strategy, resource) => {
    const unknown = { gpus: [{ model: "NVIDIA X100 80GB", architecture: "Hopper" as const, memory: "80Gi" }] };
    const sharing = { mig: { strategy, profile: "all-1g.10gb" } };
    const pod = { image: "a:1", gpus: 1, ...(strategy === "mixed" ? { migProfile: "1g.10gb" } : {}) };
    const stack = (machine: object, pods: object): ClusterSpec =>
      oneMachine("v1.13.9", machine, { gpuOperator: { version: "v26.3.3" }, sharing, workloads: { pods } } as object);
    const two = { one: pod, another: pod, large: { ...pod, gpus: 3 } };
    const [machine] = planCluster(stack(unknown, two)).machines;
    expect(machine).toMatchObject({ allocatable: { [resource]: 1 }, atLeast: [resource] });
    expect(findingsOf(stack(unknown, two))).toEqual([]);
    // Where the geometry is known, so is the count.
    const known = stack({ gpus: [{ model: "H100 PCIe" }] }, { one: { ...pod, gpus: 8 } });
    expect(planCluster(known).machines[0]?.atLeast).toBeUndefined();
    expect(findingsOf(known).map(({ check }) => check)).toEqual(["gpu-requests"]);
  },
);

// Devices that the MIG manager's configuration names, by their PCI IDs (gpu-operator v26.3.3, assets/state-mig-manager/0400_configmap.yaml).
test.each([
  ["all-balanced", "RTX PRO 6000 Blackwell Workstation Edition", false],
  ["all-balanced", "RTX PRO 6000 Blackwell Max-Q Workstation Edition", false],
  ["all-balanced", "RTX PRO 6000 Blackwell Server Edition", true],
  ["all-balanced", "H100 SXM5 96GB", false],
  ["all-balanced", "H100 96GB", true],
  ["all-balanced", "H200 NVL", true],
  ["all-1g.35gb", "H200 NVL", false],
  ["all-1g.18gb", "H200 NVL", true],
  ["all-1g.35gb", "H200", true],
  ["all-1g.35gb", "GB300", true],
])("%s splits an %s: %s", (profile, model, splits) => {
  const sharing = { mig: { strategy: "mixed", profile } } as const;
  const spec = oneMachine("v1.13.9", { gpus: [{ model }] }, { gpuOperator: { version: "v26.3.3" }, sharing });
  expect(findingsOf(spec).map(({ check, problem }) => `${check}: ${problem}`)).toEqual(
    splits ? [] : [`mig: ${profile} does nothing on the ${model} of gpu`],
  );
});

test.each([
  ["B300 SXM6 AC", "1g.34gb", "v1.12.6", "production", "needs driver 580.82.07"],
  ["B300 SXM6 AC", "1g.34gb", "v1.12.6", "lts", undefined],
  ["RTX PRO 4500 Blackwell", "1g.16gb", "v1.13.9", "lts", undefined],
  ["RTX PRO 4500 Blackwell Server Edition", "1g.16gb", "v1.13.9", "lts", undefined],
  ["RTX PRO 4000 Blackwell", "1g.12gb", "v1.13.9", "lts", "has no MIG"],
  ["RTX 5080", "1g.16gb", "v1.13.9", "lts", "has no MIG"],
  ["RTX PRO 5000 Blackwell Generation Laptop GPU", "1g.12gb", "v1.13.9", "lts", "has no MIG"],
] as const)("MIG on an %s, %s, with Talos %s and %s: %s", (model, profile, version, branch, problem) => {
  const sharing = { mig: { strategy: "single", profile } } as const;
  const more = { gpuOperator: { version: "v25.10.1" }, sharing, driver: { branch } };
  const said = findingsOf(oneMachine(version, { gpus: [{ model }] }, more)).filter(({ check }) => check === "mig");
  expect(said.map((finding) => finding.problem)).toEqual(problem ? [expect.stringContaining(problem)] : []);
});
