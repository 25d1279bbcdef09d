import type { PodToleration } from "../../../components/recipe";
import { yaml } from "../../support/yaml";
import { expectPlan, type StackChange } from "./expect-plan";

const nvidiaToleration: PodToleration = {
  key: "nvidia.com/gpu",
  operator: "Exists",
  effect: "NoSchedule",
};
const gpuToleration: PodToleration = {
  key: "gpu",
  operator: "Equal",
  value: "true",
  effect: "NoSchedule",
};
const controlPlaneToleration: PodToleration = {
  key: "node-role.kubernetes.io/control-plane",
  operator: "Exists",
  effect: "NoSchedule",
};
const everywhere: PodToleration[] = [controlPlaneToleration, nvidiaToleration, gpuToleration];
const ofPatchedTaints: PodToleration[] = [
  nvidiaToleration,
  { key: "workload", operator: "Equal", value: "ai", effect: "NoSchedule" },
  { key: "gpu", operator: "Exists", effect: "NoExecute" },
];

/** The device plugin in the place of the operator. */
const pluginAlone = (version: string, values?: Record<string, unknown>): StackChange => ({
  gpuOperator: null,
  devicePlugin: { version, ...(values && { values }) },
});

test("everything tolerates the taints, NVIDIA's DaemonSets included", () =>
  expectPlan(
    { base: "modern" },
    {
      kubernetes: {
        tolerations: [nvidiaToleration, gpuToleration],
        release: {
          values: {
            daemonsets: { tolerations: [nvidiaToleration, gpuToleration] },
            "node-feature-discovery": { worker: { tolerations: everywhere } },
          },
        },
      },
    },
  ));

test("taints of a patch's kubelet argument are tolerated, and the stack does not set them", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        patches: [
          yaml`
            machine:
              kubelet:
                extraArgs: { register-with-taints: "workload=ai:NoSchedule,gpu:NoExecute" }
          `,
        ],
      },
    },
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: ofPatchedTaints } },
  ));

test("taints of a list of kubelet arguments", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        patches: [
          yaml`
            machine:
              kubelet:
                extraArgs: { register-with-taints: [workload=ai:NoSchedule, gpu:NoExecute] }
          `,
        ],
      },
    },
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: ofPatchedTaints } },
  ));

test("taints of a patch's kubelet.extraConfig", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        patches: [
          yaml`
            machine:
              kubelet:
                extraConfig:
                  registerWithTaints:
                    - { key: workload, value: ai, effect: NoSchedule }
                    - { key: gpu, effect: NoExecute }
          `,
        ],
      },
    },
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: ofPatchedTaints } },
  ));

test("taints of a patch's nodeTaints", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        patches: [yaml`machine: {nodeTaints: {workload: 'ai:NoSchedule', gpu: ':NoExecute'}}`],
      },
    },
    {
      machine: { nodeTaints: [] },
      kubernetes: { tolerations: ofPatchedTaints },
      findings: [/^patch-node-taints /],
    },
  ));

test("taints of a KubeletConfig", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        patches: [
          yaml`
            apiVersion: v1alpha1
            kind: KubeletConfig
            config:
              registerWithTaints:
                - { key: workload, value: ai, effect: NoSchedule }
                - { key: gpu, effect: NoExecute }
          `,
        ],
      },
    },
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: ofPatchedTaints } },
  ));

test("taints of a KubeNodeConfig", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        patches: [
          yaml`
            apiVersion: v1alpha1
            kind: KubeNodeConfig
            taints: {workload: 'ai:NoSchedule', gpu: ':NoExecute'}
          `,
        ],
      },
    },
    {
      machine: { nodeTaints: [] },
      kubernetes: { tolerations: ofPatchedTaints },
      findings: [/^patch-node-taints /],
    },
  ));

test("all parts of the operator and of Node Feature Discovery tolerate a taint", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: { gpuOperator: { version: "v25.10.1" } },
    },
    {
      kubernetes: {
        release: {
          values: {
            operator: { tolerations: everywhere },
            "node-feature-discovery": {
              master: { tolerations: everywhere },
              gc: { tolerations: everywhere },
            },
          },
        },
      },
    },
  ));

test("all parts of the operator tolerate a GPU machine's taint if the stack also has a control plane", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: {
        gpuOperator: { version: "v25.10.1" },
        machines: {
          control: { address: "10.0.0.9", role: "controlplane", configuration: "adopted" },
        },
      },
    },
    {
      kubernetes: {
        release: {
          values: {
            operator: { tolerations: everywhere },
            "node-feature-discovery": {
              master: { tolerations: everywhere },
              gc: { tolerations: everywhere },
            },
          },
        },
      },
    },
  ));

test("the device plugin's Node Feature Discovery tolerates a taint together with GPU Feature Discovery", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: pluginAlone("0.18.2", { gfd: { enabled: true } }),
    },
    {
      kubernetes: {
        release: {
          values: {
            nfd: {
              worker: { tolerations: everywhere },
              master: { tolerations: everywhere },
              gc: { tolerations: everywhere },
            },
          },
        },
      },
    },
  ));

test("the device plugin's Node Feature Discovery tolerates a taint without GPU Feature Discovery", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: pluginAlone("0.18.2", { nfd: { enabled: true } }),
    },
    {
      kubernetes: {
        release: {
          values: {
            nfd: {
              worker: { tolerations: everywhere },
              master: { tolerations: everywhere },
              gc: { tolerations: everywhere },
            },
          },
        },
      },
    },
  ));

test("a device plugin without Node Feature Discovery gets no values for it", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: pluginAlone("0.18.2"),
    },
    { kubernetes: { release: { values: { nfd: null } } } },
  ));

test("NVIDIA's taint needs no second toleration", () =>
  expectPlan(
    { machine: { taints: { "nvidia.com/gpu": "present:NoSchedule" } } },
    { kubernetes: { tolerations: [nvidiaToleration] } },
  ));

test("NVIDIA's taint with another effect needs a second toleration", () =>
  expectPlan(
    { machine: { taints: { "nvidia.com/gpu": "present:NoExecute" } } },
    {
      kubernetes: {
        tolerations: [
          nvidiaToleration,
          { key: "nvidia.com/gpu", operator: "Equal", value: "present", effect: "NoExecute" },
        ],
      },
    },
  ));

test("a taint is split into value and effect", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule", drained: ":NoExecute", odd: "true" } },
    },
    {
      machine: {
        nodeTaints: [
          { key: "drained", effect: "NoExecute" },
          { key: "gpu", value: "true", effect: "NoSchedule" },
        ],
      },
      findings: [/^taints machines\.gpu\.taints\.odd: /],
    },
  ));

test("Omni's machines of Talos 1.14 register without taints, since they may have a KubeletConfig", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        configuration: "omni",
        uuid: "ce4d0d52-6c10-bdc9-746c-88aedd67681b",
        taints: { gpu: "true:NoSchedule" },
      },
      change: { clusterName: "lab" },
    },
    { ownPatch: { machine: { kubelet: null } } },
  ));

test("Omni's machines of Talos 1.13 register with taints", () =>
  expectPlan(
    {
      talosVersion: "v1.13.9",
      machine: {
        configuration: "omni",
        uuid: "ce4d0d52-6c10-bdc9-746c-88aedd67681b",
        taints: { gpu: "true:NoSchedule" },
      },
      change: { clusterName: "lab" },
    },
    {
      ownPatch: {
        machine: {
          kubelet: {
            extraConfig: {
              registerWithTaints: [{ key: "gpu", value: "true", effect: "NoSchedule" }],
            },
          },
        },
      },
    },
  ));
