import { parse } from "yaml";
import { findingsOf, planCluster, type ClusterSpec } from "../../../components/recipe/index";
import { oneMachine, validStack } from "../stacks";

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

test("time slicing of MIG devices", () => {
  const mig = { strategy: "single", profile: "1g.12gb" } as const;
  expect(shared({ mig, timeSlicing: { replicas: 2 } }).machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": 28 });
});

test("MPS by the standalone plugin", () => {
  const spec = { ...validStack("rtx3090-timeslicing"), sharing: { mps: { replicas: 4 } } };
  const plan = planCluster(spec);
  expect(plan.kubernetes.release.values).toMatchObject({
    config: { default: "default", map: { default: plan.kubernetes.sharingConfig } },
  });
  expect(parse(plan.kubernetes.sharingConfig ?? "").sharing).toEqual({
    mps: { failRequestsGreaterThanOne: true, resources: [{ name: "nvidia.com/gpu", replicas: 4 }] },
  });
  expect(plan.machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": 8 });
  // Nobody else would: GPU feature discovery, whose label it is, comes with the operator.
  expect(plan.machines[0]?.nodeLabels["nvidia.com/mps.capable"]).toBe("true");
  expect(shared({ mps: { replicas: 4 } }).machines[0]?.nodeLabels).not.toHaveProperty(["nvidia.com/mps.capable"]);
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
])("an %s is split into %s", (model, profile, devices) => {
  const sharing = { mig: { strategy: "single", profile } } as const;
  const spec = oneMachine("v1.13.9", { gpus: [{ model }] }, { gpuOperator: { version: "v26.3.3" }, sharing });
  expect(planCluster(spec).machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": devices });
  expect(planCluster(spec).notes.filter((note) => /profiles/.test(note))).toEqual([]);
});

// The MIG manager's configuration of all-balanced names the Server Edition's device alone (mig-parted v0.12.3, 0x2BB510DE).
test.each([
  ["RTX PRO 6000 Blackwell Workstation Edition", false],
  ["RTX PRO 6000 Blackwell Max-Q Workstation Edition", false],
  ["RTX PRO 6000 Blackwell Server Edition", true],
])("an %s takes all-balanced: %s", (model, takes) => {
  const of = (profile: string): string[] => {
    const sharing = { mig: { strategy: "mixed", profile } } as const;
    const spec = oneMachine("v1.13.9", { gpus: [{ model }] }, { gpuOperator: { version: "v26.3.3" }, sharing });
    return findingsOf(spec).map(({ check, problem }) => `${check}: ${problem}`);
  };
  expect(of("1g.24gb")).toEqual([]);
  expect(of("all-balanced")).toEqual(takes ? [] : [`mig: all-balanced does nothing on the ${model} of gpu`]);
});
