import { yaml } from "../../support/yaml";
import { expectPlan } from "./expect-plan";

const twoH100s = { gpus: [{ model: "H100 NVL", count: 2 }] };
const fourSlices = yaml`
  version: v1
  sharing:
    timeSlicing:
      renameByDefault: false
      failRequestsGreaterThanOne: true
      resources:
        - name: nvidia.com/gpu
          replicas: 4
`;

test("a machine without sharing offers each card as one GPU", () =>
  expectPlan(
    { talosVersion: "v1.12.6", machine: twoH100s },
    { allocatable: { gpu: { "nvidia.com/gpu": 2 } } },
  ));

test("a stack without sharing has no sharing configuration for the device plugin", () =>
  expectPlan(
    { talosVersion: "v1.12.6", machine: twoH100s },
    { allocatable: { gpu: { "nvidia.com/gpu": 2 } }, kubernetes: { sharingConfig: null } },
  ));

test("with 4 time slices, two cards are offered as 8 GPUs", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: { sharing: { timeSlicing: { replicas: 4 } } },
    },
    {
      allocatable: { gpu: { "nvidia.com/gpu": 8 } },
      kubernetes: {
        sharingConfig: fourSlices,
        release: {
          values: {
            devicePlugin: {
              config: { create: true, default: "default", data: { default: fourSlices } },
            },
          },
        },
      },
    },
  ));

test("with renameByDefault, time slices are offered as nvidia.com/gpu.shared", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: { sharing: { timeSlicing: { replicas: 3, renameByDefault: true } } },
    },
    {
      allocatable: { gpu: { "nvidia.com/gpu.shared": 6 } },
      kubernetes: { resourceName: "nvidia.com/gpu.shared" },
    },
  ));

test("with mixed MIG, workloads get the MIG device with the least memory", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "A100-SXM4-40GB" }] },
      change: {
        sharing: { mig: { strategy: "mixed", profile: "all-balanced" } },
        machines: {
          larger: {
            address: "10.0.0.99",
            role: "worker",
            configuration: "adopted",
            gpus: [{ model: "A100-SXM4-80GB" }],
          },
        },
      },
    },
    { kubernetes: { resourceName: "nvidia.com/mig-1g.5gb" } },
  ));

test("with 2 time slices, each MIG device is offered twice", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: {
        sharing: { mig: { strategy: "single", profile: "1g.12gb" }, timeSlicing: { replicas: 2 } },
      },
    },
    { allocatable: { gpu: { "nvidia.com/gpu": 28 } } },
  ));

test("with the strategy single, MIG devices are offered as nvidia.com/gpu", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: { sharing: { mig: { strategy: "single", profile: "1g.12gb" } } },
    },
    {
      machine: { nodeLabels: { "nvidia.com/mig.config": "all-1g.12gb" } },
      allocatable: { gpu: { "nvidia.com/gpu": 14 } },
      kubernetes: {
        resourceName: "nvidia.com/gpu",
        release: { values: { mig: { strategy: "single" }, migManager: { enabled: true } } },
      },
      someNotes: [/MIG/],
    },
  ));

test("with the profile all-disabled, two cards are offered as 2 GPUs", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: { sharing: { mig: { strategy: "single", profile: "all-disabled" } } },
    },
    {
      machine: { nodeLabels: { "nvidia.com/mig.config": "all-disabled" } },
      allocatable: { gpu: { "nvidia.com/gpu": 2 } },
      kubernetes: {
        resourceName: "nvidia.com/gpu",
        release: { values: { mig: { strategy: "single" }, migManager: { enabled: true } } },
      },
      someNotes: [/MIG/],
    },
  ));

test("with the strategy mixed, MIG devices are offered under the name of their profile", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: { sharing: { mig: { strategy: "mixed", profile: "all-3g.47gb" } } },
    },
    {
      machine: { nodeLabels: { "nvidia.com/mig.config": "all-3g.47gb" } },
      allocatable: { gpu: { "nvidia.com/mig-3g.47gb": 4 } },
      kubernetes: {
        resourceName: "nvidia.com/mig-3g.47gb",
        release: { values: { mig: { strategy: "mixed" }, migManager: { enabled: true } } },
      },
      someNotes: [/MIG/],
    },
  ));

test("with the strategy mixed, each size of MIG devices is a resource", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: { sharing: { mig: { strategy: "mixed", profile: "all-balanced" } } },
    },
    {
      machine: { nodeLabels: { "nvidia.com/mig.config": "all-balanced" } },
      allocatable: {
        gpu: {
          "nvidia.com/mig-1g.12gb": 4,
          "nvidia.com/mig-2g.24gb": 2,
          "nvidia.com/mig-3g.47gb": 2,
        },
      },
      kubernetes: { resourceName: "nvidia.com/mig-1g.12gb" },
      someNotes: [/MIG/],
    },
  ));

test("a MIG device with media engines is offered as nvidia.com/mig-1g.12gb.me", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: twoH100s,
      change: { sharing: { mig: { strategy: "mixed", profile: "1g.12gb+me" } } },
    },
    {
      machine: { nodeLabels: { "nvidia.com/mig.config": "all-1g.12gb.me" } },
      allocatable: { gpu: { "nvidia.com/mig-1g.12gb.me": 2 } },
      kubernetes: { resourceName: "nvidia.com/mig-1g.12gb.me" },
      someNotes: [/MIG/],
    },
  ));

test("in a stack with MIG, a card that cannot do MIG is offered whole", () =>
  expectPlan(
    { base: "mig-beside-whole" },
    {
      machine: { nodeLabels: { "nvidia.com/mig.config": "all-1g.18gb" } },
      machines: { "home-1": { nodeLabels: { "nvidia.com/mig.config": null } } },
      allocatable: { "dc-1": { "nvidia.com/mig-1g.18gb": 14 }, "home-1": { "nvidia.com/gpu": 1 } },
      someNotes: [/home-1 has no card that supports MIG/],
    },
  ));

test("with the profile disabled, two cards are offered as 2 GPUs", () =>
  expectPlan({ base: "mig-disabled" }, { allocatable: { "dc-1": { "nvidia.com/gpu": 2 } } }));

test("a warning says that this package is untested with MIG on hardware", () =>
  expectPlan(
    { base: "mig" },
    { notes: [/this package is untested with MIG on hardware/, /no longer supports/] },
  ));

test("a note says that an Ampere card needs a reset to change its MIG mode", () =>
  expectPlan(
    {
      base: "mig",
      machine: { gpus: [{ model: "A30" }], powerLimit: null },
      change: { sharing: { mig: { profile: "1g.6gb" } } },
    },
    {
      notes: [
        /this package is untested with MIG on hardware/,
        /the Ampere cards of dc-1 need a reset to change their MIG mode/,
        /no longer supports/,
      ],
    },
  ));

// No table has this card's MIG geometry, so it has at least one instance, and no request is too large.
test("with the strategy single, a card of unknown MIG geometry counts as at least one MIG device", () =>
  expectPlan(
    {
      machine: { gpus: [{ model: "NVIDIA X100 80GB", architecture: "Hopper", memory: "80Gi" }] },
      change: {
        sharing: { mig: { strategy: "single", profile: "all-1g.10gb" } },
        workloads: {
          pods: {
            one: { image: "a:1" },
            another: { image: "a:1" },
            large: { image: "a:1", gpus: 3 },
          },
        },
      },
    },
    { machine: { atLeast: ["nvidia.com/gpu"] }, allocatable: { gpu: { "nvidia.com/gpu": 1 } } },
  ));

test("with the strategy mixed, a card of unknown MIG geometry counts as at least one MIG device", () =>
  expectPlan(
    {
      machine: { gpus: [{ model: "NVIDIA X100 80GB", architecture: "Hopper", memory: "80Gi" }] },
      change: {
        sharing: { mig: { strategy: "mixed", profile: "all-1g.10gb" } },
        workloads: {
          pods: {
            one: { image: "a:1", migProfile: "1g.10gb" },
            another: { image: "a:1", migProfile: "1g.10gb" },
            large: { image: "a:1", migProfile: "1g.10gb", gpus: 3 },
          },
        },
      },
    },
    {
      machine: { atLeast: ["nvidia.com/mig-1g.10gb"] },
      allocatable: { gpu: { "nvidia.com/mig-1g.10gb": 1 } },
    },
  ));

test("a request for more MIG devices than the card's geometry has is refused", () =>
  expectPlan(
    {
      machine: { gpus: [{ model: "H100 PCIe" }] },
      change: {
        sharing: { mig: { strategy: "mixed", profile: "all-1g.10gb" } },
        workloads: { pods: { one: { image: "a:1", migProfile: "1g.10gb", gpus: 8 } } },
      },
    },
    { machine: { atLeast: null }, findings: [/^gpu-requests /] },
  ));
