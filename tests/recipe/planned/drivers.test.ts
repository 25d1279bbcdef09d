import { yaml } from "../../support/yaml";
import { expectPlan } from "./expect-plan";

const openModules = [
  "siderolabs/nvidia-container-toolkit-production",
  "siderolabs/nvidia-open-gpu-kernel-modules-production",
];
const openModulesLts = [
  "siderolabs/nvidia-container-toolkit-lts",
  "siderolabs/nvidia-open-gpu-kernel-modules-lts",
];
const proprietaryModules = [
  "siderolabs/nonfree-kmod-nvidia-production",
  "siderolabs/nvidia-container-toolkit-production",
];
const proprietaryModulesLts = [
  "siderolabs/nonfree-kmod-nvidia-lts",
  "siderolabs/nvidia-container-toolkit-lts",
];
const openModulesWithFabricManager = [
  "siderolabs/nvidia-container-toolkit-production",
  "siderolabs/nvidia-fabricmanager-production",
  "siderolabs/nvidia-open-gpu-kernel-modules-production",
];
const kernelModules = [
  { name: "nvidia" },
  { name: "nvidia_uvm" },
  { name: "nvidia_drm" },
  { name: "nvidia_modeset" },
];
const customImage = "registry.example.com/talos/installer:v1.13.6-nvidia-2";

test("on Talos 1.11, an RTX 5070 Ti gets the open modules of production", () =>
  expectPlan(
    { talosVersion: "v1.11.5", machine: { gpus: [{ model: "RTX 5070 Ti" }] } },
    { machine: { driverVersion: "570.172.08", extensions: openModules } },
  ));

test("on Talos 1.12 with the branch lts, an H100 gets the open modules of lts", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { gpus: [{ model: "H100 NVL" }] },
      change: { driver: { branch: "lts" } },
    },
    { machine: { driverVersion: "580.126.20", extensions: openModulesLts } },
  ));

test("on Talos 1.12, a GTX 1080 Ti gets the proprietary modules of production", () =>
  expectPlan(
    { talosVersion: "v1.12.6", machine: { gpus: [{ model: "GTX 1080 Ti" }] } },
    { machine: { driverVersion: "570.211.01", extensions: proprietaryModules } },
  ));

test("on Talos 1.13, a GTX 1080 Ti gets the proprietary modules of lts", () =>
  expectPlan(
    { machine: { gpus: [{ model: "GTX 1080 Ti" }] } },
    { machine: { driverVersion: "580.178.04", extensions: proprietaryModulesLts } },
  ));

test("on Talos 1.14, a V100 gets the proprietary modules of lts", () =>
  expectPlan(
    { talosVersion: "v1.14.0", machine: { gpus: [{ model: "V100" }] } },
    { machine: { driverVersion: "580.178.04", extensions: proprietaryModulesLts } },
  ));

test("with driver.flavour proprietary, an RTX 3090 gets the proprietary modules", () =>
  expectPlan(
    { talosVersion: "v1.10.9", change: { driver: { flavour: "proprietary" } } },
    { machine: { driverVersion: "570.148.08", extensions: proprietaryModules } },
  ));

test("on Talos 1.11 with the branch lts, a T4 gets the open modules of lts", () =>
  expectPlan(
    {
      talosVersion: "v1.11.1",
      machine: { gpus: [{ model: "T4" }] },
      change: { driver: { branch: "lts" } },
    },
    { machine: { driverVersion: "535.247.01", extensions: openModulesLts } },
  ));

test("on Talos 1.13, a GB10 gets the kernel argument arm64.nobti after the user's arguments", () =>
  expectPlan(
    { machine: { gpus: [{ model: "GB10" }], kernelArgs: ["quiet"] } },
    {
      machine: {
        driverVersion: "595.91.07",
        extensions: proprietaryModules,
        schematic: yaml`
          customization:
              extraKernelArgs:
                  - quiet
                  - arm64.nobti
              systemExtensions:
                  officialExtensions:
                      - siderolabs/nonfree-kmod-nvidia-production
                      - siderolabs/nvidia-container-toolkit-production
        `,
      },
    },
  ));

test("a GH200, whose processor is arm64, gets the kernel argument arm64.nobti", () =>
  expectPlan(
    { machine: { gpus: [{ model: "GH200" }] } },
    {
      machine: {
        schematic: yaml`
          customization:
              extraKernelArgs:
                  - arm64.nobti
              systemExtensions:
                  officialExtensions:
                      - siderolabs/nvidia-container-toolkit-production
                      - siderolabs/nvidia-open-gpu-kernel-modules-production
        `,
      },
    },
  ));

test("on Talos 1.12, a GB10 gets the proprietary modules of lts", () =>
  expectPlan(
    { talosVersion: "v1.12.6", machine: { gpus: [{ model: "GB10" }] } },
    { machine: { driverVersion: "580.126.20", extensions: proprietaryModulesLts } },
  ));

test("NVIDIA extensions of the machine replace the stack's, and the list is sorted without duplicates", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: {
        gpus: [{ model: "L4" }],
        extensions: [
          "siderolabs/zfs",
          "siderolabs/nvidia-container-toolkit-lts",
          "siderolabs/nvidia-open-gpu-kernel-modules-lts",
          "siderolabs/zfs",
        ],
      },
    },
    {
      machine: {
        extensions: [
          "siderolabs/nvidia-container-toolkit-lts",
          "siderolabs/nvidia-open-gpu-kernel-modules-lts",
          "siderolabs/zfs",
        ],
        driverVersion: "580.126.20",
      },
      findings: [/^image-lists .*zfs/],
    },
  ));

/** Schematic with only the extension siderolabs/iscsi-tools. */
const iscsiTools = "c9078f9419961640c712a8bf2bb9174933dfcf1da383fd8ea2b7dc21493f8bac";

test("a machine without a GPU gets no extension, module, label or service of NVIDIA", () =>
  expectPlan(
    { talosVersion: "v1.12.6", machine: { gpus: null, extensions: ["siderolabs/iscsi-tools"] } },
    {
      machine: {
        gpuCount: 0,
        extensions: ["siderolabs/iscsi-tools"],
        kernelModules: [],
        sysctls: {},
        nodeLabels: {},
        extensionServices: [],
        driverVersion: null,
      },
      allocatable: { gpu: {} },
      patches: [
        yaml`
          machine:
            install:
              image: factory.talos.dev/metal-installer/${iscsiTools}:v1.12.6
        `,
      ],
      findings: [/^gpu-machine /],
    },
  ));

test("on Talos 1.14, the patch still has the modules under machine.kernel, which the provider can merge", () =>
  expectPlan(
    { talosVersion: "v1.14.0" },
    { packagePatch: { machine: { kernel: { modules: kernelModules } } } },
  ));

test("an HGX board of H100s gets the fabric manager", () =>
  expectPlan(
    { machine: { gpus: [{ model: "NVIDIA H100 80GB HBM3", count: 8 }] } },
    {
      machine: {
        extensions: openModulesWithFabricManager,
        extensionServices: [
          { name: "ext-nvidia-persistenced", state: "Running" },
          { name: "ext-nvidia-cdi-gen", state: "Finished" },
          { name: "ext-nvidia-fabricmanager", state: "Running" },
        ],
      },
    },
  ));

test("an HGX board of H200s gets the fabric manager", () =>
  expectPlan(
    { machine: { gpus: [{ model: "H200", count: 8 }] } },
    {
      machine: {
        extensions: openModulesWithFabricManager,
        extensionServices: [
          { name: "ext-nvidia-persistenced", state: "Running" },
          { name: "ext-nvidia-cdi-gen", state: "Finished" },
          { name: "ext-nvidia-fabricmanager", state: "Running" },
        ],
      },
    },
  ));

test("an HGX board of A100s gets the fabric manager", () =>
  expectPlan(
    { machine: { gpus: [{ model: "A100-SXM4-80GB", count: 8 }] } },
    {
      machine: {
        extensions: openModulesWithFabricManager,
        extensionServices: [
          { name: "ext-nvidia-persistenced", state: "Running" },
          { name: "ext-nvidia-cdi-gen", state: "Finished" },
          { name: "ext-nvidia-fabricmanager", state: "Running" },
        ],
      },
    },
  ));

test("an HGX board of B200s gets the fabric manager and InfiniBand's user MAD module", () =>
  expectPlan(
    { machine: { gpus: [{ model: "B200", count: 8 }] } },
    {
      machine: {
        extensions: openModulesWithFabricManager,
        kernelModules: [
          { name: "nvidia" },
          { name: "nvidia_uvm" },
          { name: "nvidia_drm" },
          { name: "nvidia_modeset" },
          { name: "ib_umad" },
        ],
      },
    },
  ));

test("a fabric manager under extensions is not added a second time", () =>
  expectPlan(
    {
      machine: {
        gpus: [{ model: "H200", count: 8 }],
        extensions: ["siderolabs/nvidia-fabricmanager-production"],
      },
    },
    { machine: { extensions: openModulesWithFabricManager } },
  ));

test("four H100s on an HGX board get no fabric manager", () =>
  expectPlan(
    { machine: { gpus: [{ model: "H100 80GB HBM3", count: 4 }] } },
    { machine: { extensions: openModules } },
  ));

test("eight H100 NVL, which need no HGX board, get no fabric manager", () =>
  expectPlan(
    { machine: { gpus: [{ model: "H100 NVL", count: 8 }] } },
    { machine: { extensions: openModules } },
  ));

test("a fabric manager with four H100s gets a note that the NVSwitch is unknown", () =>
  expectPlan(
    {
      machine: {
        gpus: [{ model: "H100 80GB HBM3", count: 4 }],
        extensions: ["siderolabs/nvidia-fabricmanager-production"],
      },
    },
    { someNotes: [/whether the machine has an NVSwitch/] },
  ));

test("a fabric manager with eight H100s gets no note about the NVSwitch", () =>
  expectPlan(
    {
      machine: {
        gpus: [{ model: "H100 80GB HBM3", count: 8 }],
        extensions: ["siderolabs/nvidia-fabricmanager-production"],
      },
    },
    { absentNotes: [/whether the machine has an NVSwitch/] },
  ));

test("a fabric manager is refused on a machine whose card never has an NVSwitch", () =>
  expectPlan(
    { machine: { extensions: ["siderolabs/nvidia-fabricmanager-production"] } },
    { absentNotes: [/whether the machine has an NVSwitch/], findings: [/^fabricmanager-branch /] },
  ));

test("a machine gets the patches of the whole stack, then its own patches, then the package's patch", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: {
        gpus: [{ model: "L4" }],
        patches: [
          yaml`
            machine:
              time: { servers: [b] }
          `,
        ],
      },
      change: {
        patches: [
          yaml`
            machine:
              time: { servers: [a] }
          `,
        ],
      },
    },
    {
      patches: [
        yaml`
          machine:
            time: { servers: [a] }
        `,
        yaml`
          machine:
            time: { servers: [b] }
        `,
        yaml`
          machine:
            install:
        `,
      ],
    },
  ));

// The declaration may have another owner, but on a machine with a card the module must still be loaded.
test("a module that a patch declares with parameters is not declared again, but verified", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: {
        patches: [
          yaml`
            machine:
              kernel:
                modules:
                  - name: nvidia
                    parameters: [NVreg_EnableGpuFirmware=0]
          `,
        ],
      },
    },
    {
      machine: { kernelModules: kernelModules },
      packagePatch: {
        machine: {
          kernel: {
            modules: [{ name: "nvidia_uvm" }, { name: "nvidia_drm" }, { name: "nvidia_modeset" }],
          },
        },
      },
    },
  ));

test("a stack with an unknown Talos release and an unknown card can be planned and checked", () =>
  expectPlan(
    { talosVersion: "v9.9", machine: { gpus: [{ model: "Voodoo 2" }] } },
    { machine: { gpuCount: 1, injection: "legacy" }, findings: [/^talos-version /, /^gpu-model /] },
  ));

test("a custom installer image replaces the Factory's, and the plan has only the branch of its driver", () =>
  expectPlan(
    { talosVersion: "v1.13.6", machine: { installerImage: customImage } },
    {
      machine: {
        installerImage: customImage,
        ownImage: true,
        driverBranch: "595",
        extensionServices: [
          { name: "ext-nvidia-persistenced", state: "Running" },
          { name: "ext-nvidia-cdi-gen", state: "Finished" },
        ],
      },
      packagePatch: { machine: { install: { image: customImage } } },
      someNotes: [
        /^machines\.\S+\.installerImage: .* make sure that the image has siderolabs\/nvidia-.*, siderolabs\/nvidia-/,
      ],
    },
  ));
