import * as path from "node:path";
import type { MachineReport } from "../../../lab/run/report";
import { repository } from "../../../stacks/stack-file";

/** An edit of a stack after its first update. */
export interface StackEdit {
  name: string;
  /** JSON merge patch for the stack's configuration. */
  change: object;
  /** A text in the kubeconfig, and its replacement. */
  kubeconfig?: [string, string];
  /** Set if the edit cannot be undone: pattern of the error with which that preview fails. The edit then stays. */
  undoError?: string;
  /**
   * Set if the edit is refused: patterns of the errors of its preview and of an update without preview. Both change
   * nothing.
   */
  refused?: { preview: string; update: string };
  /** Whether the preview may say `only if`, since only the machine knows; otherwise it must know. */
  mayBeUncertain?: boolean;
  /** Whether no machine may reboot, whatever the preview says. */
  noReboots?: boolean;
  /** Whether the update may neither create nor replace a resource. */
  inPlace?: boolean;
  /** Further edits, before this one is undone. */
  furtherEdits?: StackEdit[];
}

/** A lab, and its stack's edits in their order. */
export interface EditedStack {
  /** Stack of tests/e2e/stacks from which the lab makes the cluster. */
  stack: string;
  /** JSON merge patch that removes the fields that the stack lacks at first. */
  initialChange?: object;
  /** Expected state of the machines before the first edit. Default: not compared. */
  machines?: Record<string, Partial<MachineReport>>;
  edits: StackEdit[];
  /** Further options of the lab. Default none. */
  options?: string[];
  /** Whether deletions by hand, and `--refresh`, `reconcileToken` and `--replace` follow. */
  withHandDeletions?: boolean;
}

const folder = path.join(repository, "tests/e2e/stacks");

/** File of a stack. */
export const stackFileOf = (stack: string): string => path.join(folder, `Pulumi.${stack}.yaml`);

/**
 * Labs, each with its edits in order. Every kind of edit occurs at least once, on the stack that it can harm most.
 * tests/recipe/effect/edits.test.ts has more pairs, without a lab.
 */
export const editedStacks: Record<string, EditedStack> = {
  operator: {
    stack: "edited-operator",
    initialChange: {
      machines: {
        "gpu-2": null,
        "gpu-1": { gpus: [{ model: "RTX 5070 Ti", count: 1 }] },
        control: { gpus: null },
      },
    },
    edits: [
      {
        name: "a second card, and a control plane's first card",
        change: {
          machines: {
            "gpu-1": { gpus: [{ model: "RTX 5070 Ti", count: 2 }] },
            control: { gpus: [{ model: "RTX 5070 Ti" }] },
          },
        },
      },
      // gpu-2 is not yet in the stack and has no driver: the markers must not wait for it.
      {
        name: "a first taint",
        change: { machines: { "gpu-1": { taints: { gpu: "true:NoSchedule" } } } },
      },
      {
        name: "a machine added",
        change: {
          machines: {
            "gpu-2": {
              address: "192.0.2.52",
              role: "worker",
              configuration: "adopted",
              gpus: [{ model: "RTX 5070 Ti" }],
            },
          },
        },
        mayBeUncertain: true,
      },
      {
        name: "operator to plugin",
        change: { gpuOperator: null, devicePlugin: { version: "0.18.2" } },
      },
      { name: "the operator's namespace", change: { gpuOperator: { namespace: "gpus" } } },
      {
        name: "another server URL",
        change: {},
        kubeconfig: ["https://127.0.0.1:", "https://localhost:"],
        mayBeUncertain: true,
        inPlace: true,
      },
      {
        name: "a sysctl for all machines",
        change: { patches: ["machine: {sysctls: {vm.swappiness: '10'}}"] },
        mayBeUncertain: true,
        furtherEdits: [
          {
            name: "a comment in that patch",
            change: { patches: ["# less of it\nmachine: {sysctls: {vm.swappiness: '10'}}"] },
            mayBeUncertain: true,
            noReboots: true,
          },
        ],
      },
      {
        name: "a udev rule for all machines",
        change: { patches: ['machine: {udev: {rules: [SUBSYSTEM=="drm"]}}'] },
        mayBeUncertain: true,
      },
      { name: "Kubernetes patch", change: { kubernetesVersion: "v1.34.2" } },
      { name: "no drain", change: { upgrade: { drain: false } }, noReboots: true },
      {
        name: "Talos patch",
        change: { talosVersion: "v1.11.6" },
        undoError: "does not support downgrades",
      },
      {
        name: "Talos minor, with the version contract set",
        change: { talosVersion: "v1.12.6", machines: { "gpu-1": { versionContract: "v1.11" } } },
        // It changes the configuration that Talos generates for an owned machine, if that minor release writes it
        // differently. Without it, a preview refuses.
        furtherEdits: [
          {
            name: "a new version contract, on purpose",
            change: { machines: { "gpu-1": { versionContract: "v1.12" } } },
            mayBeUncertain: true,
          },
        ],
        undoError: "does not support downgrades",
      },
    ],
  },
  plugin: {
    stack: "edited-plugin",
    edits: [
      {
        name: "time slicing",
        change: { sharing: { timeSlicing: { replicas: 4 } } },
        furtherEdits: [
          { name: "its count", change: { sharing: { timeSlicing: { replicas: 8 } } } },
        ],
      },
      { name: "taint", change: { machines: { "gpu-1": { taints: { gpu: "yes:NoSchedule" } } } } },
      {
        name: "chart release",
        change: { devicePlugin: { version: "0.18.2" } },
        // This is the first release whose Node Feature Discovery removes its labels when it is uninstalled.
        furtherEdits: [
          {
            name: "GPU feature discovery",
            change: { devicePlugin: { values: { gfd: { enabled: true } } } },
            noReboots: true,
          },
        ],
      },
      {
        name: "a patch",
        change: {
          machines: { "gpu-1": { patches: ['machine: {sysctls: {vm.swappiness: "1"}}'] } },
        },
        mayBeUncertain: true,
        furtherEdits: [
          {
            name: "a further one",
            change: {
              machines: {
                "gpu-1": {
                  patches: [
                    'machine: {sysctls: {vm.swappiness: "1"}}',
                    "machine: {nodeAnnotations: {rack: a}}",
                  ],
                },
              },
            },
            mayBeUncertain: true,
          },
        ],
      },
      { name: "a different Image Factory", change: { factoryUrl: "https://factory.example.net" } },
      {
        name: "another address",
        change: { machines: { "gpu-1": { address: "gpu-1" } } },
        mayBeUncertain: true,
        noReboots: true,
      },
      {
        name: "a workload added",
        change: {
          workloads: {
            pods: {
              test: {
                image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04",
                command: ["nvidia-smi"],
              },
            },
          },
        },
      },
      {
        name: "a workload with data added",
        change: { workloads: { ollama: {} } },
        furtherEdits: [
          {
            name: "a different storage class for its volume",
            change: { workloads: { ollama: { storageClass: "fast" } } },
            refused: {
              preview:
                "PersistentVolumeClaim ollama/ollama-models: would be replaced \\(because of a changed storageClass",
              update:
                "workloads\\.ollama\\.storageClass: is fast, but claim ollama/ollama-models was created with the cluster's default",
            },
          },
          {
            name: "a different namespace for the workload",
            change: { workloads: { ollama: { namespace: "ai" } } },
            refused: {
              preview: "Namespace ollama: contains PersistentVolumeClaim ollama-models",
              update:
                "workloads\\.ollama\\.namespace: is ai, but the workload's volume is in ollama",
            },
          },
        ],
      },
      { name: "driver branch, lts to production", change: { driver: { branch: "production" } } },
    ],
    withHandDeletions: true,
  },
  omni: {
    stack: "edited-omni",
    // In maintenance mode the machine would wait until its owner adds it to the cluster.
    options: ["--omni-members"],
    // Omni first upgrades a machine that is already in its cluster, then applies its configuration: two reboots.
    machines: {
      "gpu-1": {
        talosVersion: "v1.12.6",
        driverVersion: "570.211.01",
        reboots: 2,
        allocatable: { "nvidia.com/gpu": "1" },
      },
    },
    edits: [
      {
        name: "label",
        change: { machines: { "gpu-1": { labels: { slot: "X" } } } },
        noReboots: true,
      },
      {
        name: "a further extension",
        change: { machines: { "gpu-1": { extensions: ["siderolabs/iscsi-tools"] } } },
      },
      {
        name: "a patch",
        change: {
          machines: { "gpu-1": { patches: ['machine: {sysctls: {vm.swappiness: "1"}}'] } },
        },
        mayBeUncertain: true,
        noReboots: true,
      },
      {
        name: "a containerd part",
        change: {
          machines: { "gpu-1": { containerd: { nvidiaDefaultRuntime: null, cdiSpecDirs: null } } },
        },
      },
    ],
  },
};
