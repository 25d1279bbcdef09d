import * as path from "node:path";
import type { MachineReport } from "../../../lab/run/report";
import { repository } from "../../../stacks/stack-file";

/** An edit of a stack that is up. */
export interface LifeEdit {
  name: string;
  /** What it does to the stack's configuration, as a JSON merge patch. */
  change: object;
  /** A text of the kubeconfig, and what takes its place. */
  kubeconfig?: [string, string];
  /** Pattern of what the preview of taking it back is refused with, where that cannot be done; the edit then stays. */
  stays?: string;
  /** Patterns of what its preview is refused with and, without one, its update, where it cannot be done; nothing is lost by either. */
  refused?: { preview: string; update: string };
  /** Where the preview may say `only if`, as only the machine knows; elsewhere it has to know. */
  onlyIf?: boolean;
  /** Whether no machine may reboot, whatever the preview says. */
  quiet?: boolean;
  /** Whether nothing may be made, or made again. */
  inPlace?: boolean;
  /** Edits on top of it, before it is taken back. */
  then?: LifeEdit[];
}

/** A lab, and what is edited on it, one after the other. */
export interface Life {
  /** All that the cluster has: a stack of tests/e2e/stacks. */
  stack: string;
  /** A JSON merge patch that takes from it what the stack does not have at first. */
  first?: object;
  /** What its machines are like before the first edit. Default: not looked at. */
  machines?: Record<string, Partial<MachineReport>>;
  edits: LifeEdit[];
  /** Options of the lab, besides its stack. Default none. */
  options?: string[];
  /** Whether deletions by hand, and `--refresh`, `reconcileToken` and `--replace` follow. */
  byHand?: boolean;
}

const folder = path.join(repository, "tests/e2e/stacks");

/** File of a stack. */
export const fileOf = (stack: string): string => path.join(folder, `Pulumi.${stack}.yaml`);

/**
 * Labs, and what is edited on each, one edit after the other: every kind of edit at least once, on the stack that has most to
 * lose by it. tests/recipe/effect/edits.test.ts has more pairs, without a lab.
 */
export const lives: Record<string, Life> = {
  operator: {
    stack: "edited-operator",
    first: {
      machines: {
        "gpu-2": null,
        "gpu-1": { gpus: [{ model: "RTX 5070 Ti", count: 1 }] },
        control: { gpus: null },
      },
    },
    edits: [
      {
        name: "one more card, and a control plane's first",
        change: {
          machines: {
            "gpu-1": { gpus: [{ model: "RTX 5070 Ti", count: 2 }] },
            control: { gpus: [{ model: "RTX 5070 Ti" }] },
          },
        },
      },
      // gpu-2 is in no stack yet, and has no driver: the markers must not wait for it.
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
        onlyIf: true,
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
        onlyIf: true,
        inPlace: true,
      },
      {
        name: "a sysctl of all",
        change: { patches: ["machine: {sysctls: {vm.swappiness: '10'}}"] },
        onlyIf: true,
        then: [
          {
            name: "a comment in it",
            change: { patches: ["# less of it\nmachine: {sysctls: {vm.swappiness: '10'}}"] },
            onlyIf: true,
            quiet: true,
          },
        ],
      },
      {
        name: "an udev rule of all",
        change: { patches: ['machine: {udev: {rules: [SUBSYSTEM=="drm"]}}'] },
        onlyIf: true,
      },
      { name: "Kubernetes patch", change: { kubernetesVersion: "v1.34.2" } },
      { name: "no drain", change: { upgrade: { drain: false } }, quiet: true },
      {
        name: "Talos patch",
        change: { talosVersion: "v1.11.6" },
        stays: "does not support downgrades",
      },
      {
        name: "Talos minor, the version contract said",
        change: { talosVersion: "v1.12.6", machines: { "gpu-1": { versionContract: "v1.11" } } },
        // It changes what Talos generates for an owned machine, if that minor release writes it differently. Left out, a preview refuses it.
        then: [
          {
            name: "a new version contract, on purpose",
            change: { machines: { "gpu-1": { versionContract: "v1.12" } } },
          },
        ],
        stays: "does not support downgrades",
      },
    ],
  },
  plugin: {
    stack: "edited-plugin",
    edits: [
      {
        name: "time slicing",
        change: { sharing: { timeSlicing: { replicas: 4 } } },
        then: [{ name: "its count", change: { sharing: { timeSlicing: { replicas: 8 } } } }],
      },
      { name: "taint", change: { machines: { "gpu-1": { taints: { gpu: "yes:NoSchedule" } } } } },
      {
        name: "chart release",
        change: { devicePlugin: { version: "0.18.2" } },
        // The first release whose Node Feature Discovery takes its labels off with itself.
        then: [
          {
            name: "GPU feature discovery",
            change: { devicePlugin: { values: { gfd: { enabled: true } } } },
            quiet: true,
          },
        ],
      },
      {
        name: "a patch",
        change: {
          machines: { "gpu-1": { patches: ['machine: {sysctls: {vm.swappiness: "1"}}'] } },
        },
        onlyIf: true,
        then: [
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
            onlyIf: true,
          },
        ],
      },
      { name: "another Factory", change: { factoryUrl: "https://factory.example.net" } },
      {
        name: "another address",
        change: { machines: { "gpu-1": { address: "gpu-1" } } },
        onlyIf: true,
        quiet: true,
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
        then: [
          {
            name: "another class for its volume",
            change: { workloads: { ollama: { storageClass: "fast" } } },
            refused: {
              preview:
                "PersistentVolumeClaim ollama/ollama-models: would be replaced \\(another storageClass",
              update:
                "workloads\\.ollama\\.storageClass: is fast, but claim ollama/ollama-models was created with the cluster's default",
            },
          },
          {
            name: "another namespace for it",
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
    byHand: true,
  },
  omni: {
    stack: "edited-omni",
    // In maintenance mode it would wait to be added by its owner.
    options: ["--omni-members"],
    // Omni upgrades a machine that is in its cluster already, and then applies its configuration: two reboots.
    machines: {
      "gpu-1": {
        talosVersion: "v1.12.6",
        driverVersion: "570.211.01",
        reboots: 2,
        allocatable: { "nvidia.com/gpu": "1" },
      },
    },
    edits: [
      { name: "label", change: { machines: { "gpu-1": { labels: { slot: "X" } } } }, quiet: true },
      {
        name: "a further extension",
        change: { machines: { "gpu-1": { extensions: ["siderolabs/iscsi-tools"] } } },
      },
      {
        name: "a patch",
        change: {
          machines: { "gpu-1": { patches: ['machine: {sysctls: {vm.swappiness: "1"}}'] } },
        },
        onlyIf: true,
        quiet: true,
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
