import { expectPlan } from "./expect-plan";

// Notes about assumptions, and about facts that the user should know.

const factoryFacts = {
  talosVersion: "v1.13.10",
  lts: "580.190.10",
  production: "595.99.10",
  toolkit: "1.19.2",
};

test("a note names an operator that NVIDIA no longer supports", () =>
  expectPlan(
    { base: "rtx5070ti", machine: { versionContract: "v1.12" } },
    { notes: [/no longer supports/] },
  ));

test("a note names a Talos release that is newer than the tables", () =>
  expectPlan(
    { base: "rtx5070ti", talosVersion: "v1.12.40", machine: { versionContract: "v1.12" } },
    { notes: [/v1\.12\.40 is newer than this package's tables/, /no longer supports/] },
  ));

test("for a Talos release that the tables only infer, the plan is sure only of the driver's branch", () =>
  expectPlan(
    { base: "modern", talosVersion: "v1.13.10" },
    { machines: { "gpu-1": { driverVersion: "595.91.07", driverBranch: "595" } } },
  ));

test("for a Talos release that the Image Factory describes, the plan has the Factory's driver version", () =>
  expectPlan(
    { base: "modern", talosVersion: "v1.13.10", change: { releaseFacts: factoryFacts } },
    { machines: { "gpu-1": { driverVersion: "595.99.10", driverBranch: null } } },
  ));

test("the Image Factory's answer for v1.13.10 does not apply to v1.13.11", () =>
  expectPlan(
    {
      base: "modern",
      talosVersion: "v1.13.10",
      change: { releaseFacts: factoryFacts, machines: { "gpu-1": { talosVersion: "v1.13.11" } } },
    },
    { machines: { "gpu-1": { driverVersion: "595.91.07", driverBranch: "595" } } },
  ));

test("a machine gets the driver that the Image Factory reports for the machine's own release", () =>
  expectPlan(
    {
      base: "modern",
      talosVersion: "v1.13.10",
      change: {
        releaseFacts: factoryFacts,
        machines: { "gpu-1": { talosVersion: "v1.13.11" } },
        otherReleaseFacts: [
          {
            talosVersion: "v1.13.11",
            lts: "580.190.10",
            production: "595.99.11",
            toolkit: "1.19.2",
          },
        ],
      },
    },
    { machines: { "gpu-1": { driverVersion: "595.99.11" } } },
  ));

test("a note names a card that is in no table", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      machine: {
        versionContract: "v1.12",
        gpus: [{ model: "RTX 6090", architecture: "Blackwell", memory: "48Gi" }],
      },
    },
    {
      notes: [
        /"RTX 6090" is in no table of cards; the package trusts the stack's description \(Blackwell\)/,
        /no longer supports/,
      ],
    },
  ));

test("a power limit in a known range gets no note", () =>
  expectPlan({ machine: { gpus: [{ model: "H200" }], powerLimit: 300 } }, { notes: [] }));

test("a power limit that a card of the model was seen to accept gets no note", () =>
  expectPlan({ machine: { gpus: [{ model: "RTX 3090" }], powerLimit: 300 } }, { notes: [] }));

test("a note names a power limit that no card of the model was seen to accept", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      machine: { versionContract: "v1.12", gpus: [{ model: "RTX 3090" }], powerLimit: 380 },
    },
    { notes: [/whether the RTX 3090 accepts 380 W/, /no longer supports/] },
  ));

test("a note names the power limit of a card if no table has the card's limits", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      machine: { versionContract: "v1.12", gpus: [{ model: "A10G" }], powerLimit: 150 },
    },
    { notes: [/whether the A10G accepts 150 W/, /no longer supports/] },
  ));

test("a note asks for a boot medium of Talos 1.13 for a new cluster of Talos 1.12", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      talosVersion: "v1.12.4",
      machine: { versionContract: "v1.12" },
      change: { bootstrap: true },
    },
    {
      notes: [
        /k8s-worker4 .*; boot these machines from a medium of Talos 1\.13/,
        /no longer supports/,
      ],
      findings: [/^bootstrap/],
    },
  ));

test("a new cluster of Talos 1.13 gets no note about its boot medium", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      talosVersion: "v1.13.4",
      change: { bootstrap: true, gpuOperator: { version: "v26.3.3" } },
    },
    { absentNotes: [/boot medium/], findings: [/^bootstrap/] },
  ));

test("a note names a volume in another workload's namespace", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      machine: { versionContract: "v1.12", gpus: [{ model: "RTX 5070 Ti", count: 2 }] },
      change: {
        workloads: {
          comfyui: null,
          ollama: { namespace: "ai" },
          vllm: { model: "Qwen/Qwen3-0.6B", namespace: "ai" },
        },
      },
    },
    {
      notes: [
        /no longer supports/,
        /^workloads\.vllm: its volume is in namespace ai, which workloads\.ollama creates; .* another namespace$/,
      ],
    },
  ));

test("a volume in the workload's own namespace gets no note", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      machine: { versionContract: "v1.12", gpus: [{ model: "RTX 5070 Ti", count: 2 }] },
      change: {
        workloads: {
          comfyui: null,
          ollama: { namespace: "ai" },
          vllm: { model: "Qwen/Qwen3-0.6B" },
        },
      },
    },
    { notes: [/no longer supports/] },
  ));

test("a note names a card that kernel arguments also give to virtual machines", () =>
  expectPlan(
    {
      base: "three-generations",
      machine: { gpus: [{ model: "RTX 3090" }], kernelArgs: ["vfio-pci.ids=10de:1aef,10DE:2204"] },
    },
    {
      someNotes: [
        /gpus.*: .* binds every RTX 3090 of blackwell to vfio-pci.*PCIDriverRebindConfig/,
      ],
    },
  ));

test("a note names a card that module parameters also give to virtual machines", () =>
  expectPlan(
    {
      base: "three-generations",
      machine: {
        gpus: [{ model: "RTX 3090" }],
        patches: [
          "machine: { kernel: { modules: [{ name: vfio_pci, parameters: ['ids=10de:2204,10de:1aef'] }] } }",
        ],
      },
    },
    {
      someNotes: [
        /gpus.*: .* binds every RTX 3090 of blackwell to vfio-pci.*PCIDriverRebindConfig/,
      ],
    },
  ));

test("a card gets no note if vfio-pci binds only another model", () =>
  expectPlan(
    {
      base: "three-generations",
      machine: { gpus: [{ model: "RTX 4090" }], kernelArgs: ["vfio-pci.ids=10de:1aef,10DE:2204"] },
    },
    { absentNotes: [/PCIDriverRebindConfig/] },
  ));
