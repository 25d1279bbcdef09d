import { repository } from "../../../stacks/stack-file";
import type { Said } from "../../support/edits";
import * as path from "node:path";

/** An edit of a stack that is up. */
export interface LifeEdit {
  name: string;
  /** What it does to the stack's configuration. */
  edit: (said: Said) => void;
  /** What it does to the kubeconfig. Default: nothing. */
  kubeconfig?: (text: string) => string;
  /** What the preview of taking it back is refused with, where that cannot be done; the edit then stays. */
  stays?: RegExp;
  /** What its preview is refused with and, without one, its update, where it cannot be done; nothing is lost by either. */
  refused?: { preview: RegExp; update: RegExp };
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
  /** File: all that the cluster has. */
  stack: string;
  /** Takes from it what the stack does not have at first. */
  first: (said: Said) => void;
  edits: LifeEdit[];
  /** Options of the lab, besides its stack. Default none. */
  options?: string[];
  /** Whether somebody then deletes by hand, and `--refresh`, `reconcileToken` and `--replace` follow. */
  byHand?: boolean;
}

const machine = (said: Said, name: string): Said => said["machines"][name] as Said;
const file = (name: string): string => path.join(repository, "tests/e2e/stacks", `Pulumi.${name}.yaml`);
const noDowngrade = /does not support downgrades/;

/** Every edit at least once, on the stack that has most to lose by it; `tests/recipe/effect/edits.test.ts` has more pairs, without a lab. */
export const lives: Record<string, Life> = {
  operator: {
    stack: file("edited-operator"),
    first: (said) => {
      delete said["machines"]["gpu-2"];
      machine(said, "gpu-1")["gpus"][0].count = 1;
      delete machine(said, "control")["gpus"];
    },
    edits: [
      {
        name: "one more card, and a control plane's first",
        edit: (said) => {
          machine(said, "gpu-1")["gpus"][0].count = 2;
          machine(said, "control")["gpus"] = [{ model: "RTX 5070 Ti" }];
        },
      },
      // gpu-2 is in no stack yet, and has no driver: the markers must not wait for it.
      { name: "a first taint", edit: (said) => (machine(said, "gpu-1")["taints"] = { gpu: "true:NoSchedule" }) },
      { name: "a machine added", edit: (said) => (said["machines"]["gpu-2"] = another), onlyIf: true },
      {
        name: "operator to plugin",
        edit: (said) => {
          delete said["gpuOperator"];
          said["devicePlugin"] = { version: "0.18.2" };
        },
      },
      { name: "the operator's namespace", edit: (said) => (said["gpuOperator"].namespace = "gpus") },
      {
        name: "another server URL",
        edit: () => {},
        kubeconfig: (text) => text.replace("https://127.0.0.1:", "https://localhost:"),
        onlyIf: true,
        inPlace: true,
      },
      {
        name: "a sysctl of all",
        edit: (said) => (said["patches"] = ["machine: {sysctls: {vm.swappiness: '10'}}"]),
        onlyIf: true,
        then: [
          {
            name: "a comment in it",
            edit: (said) => (said["patches"] = ["# less of it\nmachine: {sysctls: {vm.swappiness: '10'}}"]),
            onlyIf: true,
            quiet: true,
          },
        ],
      },
      {
        name: "an udev rule of all",
        edit: (said) => (said["patches"] = ['machine: {udev: {rules: [SUBSYSTEM=="drm"]}}']),
        onlyIf: true,
      },
      { name: "Kubernetes patch", edit: (said) => (said["kubernetesVersion"] = "v1.34.2") },
      { name: "no drain", edit: (said) => (said["upgrade"] = { drain: false }), quiet: true },
      { name: "Talos patch", edit: (said) => (said["talosVersion"] = "v1.11.6"), stays: noDowngrade },
      {
        name: "Talos minor, the running release said",
        edit: (said) => {
          said["talosVersion"] = "v1.12.6";
          machine(said, "gpu-1")["runningVersion"] = "v1.11.6";
        },
        // It changes what Talos generates for an owned machine, if that minor release writes it differently.
        then: [{ name: "runningVersion taken out", edit: (said) => delete machine(said, "gpu-1")["runningVersion"] }],
        stays: noDowngrade,
      },
    ],
  },
  plugin: {
    stack: file("edited-plugin"),
    first: () => {},
    edits: [
      {
        name: "time slicing",
        edit: (said) => (said["sharing"] = { timeSlicing: { replicas: 4 } }),
        then: [{ name: "its count", edit: (said) => (said["sharing"].timeSlicing.replicas = 8) }],
      },
      { name: "taint", edit: (said) => (machine(said, "gpu-1")["taints"] = { gpu: "yes:NoSchedule" }) },
      {
        name: "chart release",
        edit: (said) => (said["devicePlugin"].version = "0.18.2"),
        // The first release whose Node Feature Discovery takes its labels off with itself.
        then: [
          {
            name: "GPU feature discovery",
            edit: (said) => (said["devicePlugin"].values = { gfd: { enabled: true } }),
            quiet: true,
          },
        ],
      },
      {
        name: "a patch",
        edit: (said) => (machine(said, "gpu-1")["patches"] = ['machine: {sysctls: {vm.swappiness: "1"}}']),
        onlyIf: true,
        then: [
          {
            name: "a further one",
            onlyIf: true,
            edit: (said) =>
              (machine(said, "gpu-1")["patches"] as string[]).push("machine: {nodeAnnotations: {rack: a}}"),
          },
        ],
      },
      {
        name: "another Factory",
        edit: (said) => (said["factoryUrl"] = "https://factory.example.net"),
      },
      {
        name: "another address",
        edit: (said) => (machine(said, "gpu-1")["address"] = "gpu-1"),
        onlyIf: true,
        quiet: true,
      },
      { name: "a workload added", edit: (said) => (said["workloads"] = { pods: { test: pod } }) },
      {
        name: "a workload with data added",
        edit: (said) => (said["workloads"] = { ollama: {} }),
        then: [
          {
            name: "another class for its volume",
            edit: (said) => (said["workloads"].ollama = { storageClass: "fast" }),
            refused: {
              preview: /PersistentVolumeClaim ollama\/ollama-models: is to be replaced \(another storageClass/,
              update:
                /workloads\.ollama\.storageClass: is fast, and claim ollama\/ollama-models was made with that of the cluster/,
            },
          },
          {
            name: "another namespace for it",
            edit: (said) => (said["workloads"].ollama = { namespace: "ai" }),
            refused: {
              preview: /Namespace ollama: holds PersistentVolumeClaim ollama-models/,
              update: /workloads\.ollama\.namespace: is ai, and the workload's volume is in ollama/,
            },
          },
        ],
      },
      { name: "driver branch, lts to production", edit: (said) => (said["driver"].branch = "production") },
    ],
    byHand: true,
  },
  omni: {
    stack: file("edited-omni"),
    // In maintenance mode it would wait to be added by its owner.
    options: ["--omni-members"],
    first: () => {},
    edits: [
      { name: "label", edit: (said) => (machine(said, "gpu-1")["labels"] = { slot: "X" }), quiet: true },
      {
        name: "a further extension",
        edit: (said) => (machine(said, "gpu-1")["extensions"] = ["siderolabs/iscsi-tools"]),
      },
      {
        name: "a patch",
        edit: (said) => (machine(said, "gpu-1")["patches"] = ['machine: {sysctls: {vm.swappiness: "1"}}']),
        onlyIf: true,
        quiet: true,
      },
      { name: "a containerd part", edit: (said) => (machine(said, "gpu-1")["containerd"] = { baseRuntimeSpec: true }) },
    ],
  },
};

const another: Said = {
  address: "192.0.2.52",
  role: "worker",
  configuration: "adopted",
  gpus: [{ model: "RTX 5070 Ti" }],
};

const pod: Said = { image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", command: ["nvidia-smi"] };
