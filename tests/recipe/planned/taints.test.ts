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
const allTolerations: PodToleration[] = [controlPlaneToleration, nvidiaToleration, gpuToleration];
const patchedTolerations: PodToleration[] = [
  nvidiaToleration,
  { key: "workload", operator: "Equal", value: "ai", effect: "NoSchedule" },
  { key: "gpu", operator: "Exists", effect: "NoExecute" },
];

/** The device plugin in place of the operator. */
const pluginInsteadOfOperator = (
  version: string,
  values?: Record<string, unknown>,
): StackChange => ({
  gpuOperator: null,
  devicePlugin: { version, ...(values && { values }) },
});

test("workloads, NVIDIA's DaemonSets and Node Feature Discovery tolerate the taints of the machines", () =>
  expectPlan(
    { base: "modern" },
    {
      kubernetes: {
        tolerations: [nvidiaToleration, gpuToleration],
        release: {
          values: {
            daemonsets: { tolerations: [nvidiaToleration, gpuToleration] },
            "node-feature-discovery": { worker: { tolerations: allTolerations } },
          },
        },
      },
    },
  ));

test("workloads tolerate taints from a patch's kubelet argument, and the stack does not set these taints", () =>
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
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: patchedTolerations } },
  ));

test("workloads tolerate taints from a list of kubelet arguments", () =>
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
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: patchedTolerations } },
  ));

test("workloads tolerate taints from a patch's kubelet.extraConfig", () =>
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
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: patchedTolerations } },
  ));

test("workloads tolerate taints from a patch's nodeTaints, which a finding refuses", () =>
  expectPlan(
    {
      talosVersion: "v1.14.0",
      machine: {
        patches: [yaml`machine: {nodeTaints: {workload: 'ai:NoSchedule', gpu: ':NoExecute'}}`],
      },
    },
    {
      machine: { nodeTaints: [] },
      kubernetes: { tolerations: patchedTolerations },
      findings: [/^patch-node-taints /],
    },
  ));

test("workloads tolerate taints from a patch's KubeletConfig", () =>
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
    { machine: { nodeTaints: [] }, kubernetes: { tolerations: patchedTolerations } },
  ));

test("workloads tolerate taints from a patch's KubeNodeConfig, which a finding refuses", () =>
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
      kubernetes: { tolerations: patchedTolerations },
      findings: [/^patch-node-taints /],
    },
  ));

test("the operator and the master and collector of Node Feature Discovery tolerate a machine's taint", () =>
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
            operator: { tolerations: allTolerations },
            "node-feature-discovery": {
              master: { tolerations: allTolerations },
              gc: { tolerations: allTolerations },
            },
          },
        },
      },
    },
  ));

test("the operator and Node Feature Discovery tolerate a machine's taint also if the stack has a control plane", () =>
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
            operator: { tolerations: allTolerations },
            "node-feature-discovery": {
              master: { tolerations: allTolerations },
              gc: { tolerations: allTolerations },
            },
          },
        },
      },
    },
  ));

test("with gfd.enabled, the plugin's Node Feature Discovery tolerates a machine's taint", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: pluginInsteadOfOperator("0.18.2", { gfd: { enabled: true } }),
    },
    {
      kubernetes: {
        release: {
          values: {
            nfd: {
              worker: { tolerations: allTolerations },
              master: { tolerations: allTolerations },
              gc: { tolerations: allTolerations },
            },
          },
        },
      },
    },
  ));

test("with nfd.enabled, the plugin's Node Feature Discovery tolerates a machine's taint", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: pluginInsteadOfOperator("0.18.2", { nfd: { enabled: true } }),
    },
    {
      kubernetes: {
        release: {
          values: {
            nfd: {
              worker: { tolerations: allTolerations },
              master: { tolerations: allTolerations },
              gc: { tolerations: allTolerations },
            },
          },
        },
      },
    },
  ));

test("a device plugin without Node Feature Discovery gets no tolerations for Node Feature Discovery", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      machine: { taints: { gpu: "true:NoSchedule" } },
      change: pluginInsteadOfOperator("0.18.2"),
    },
    { kubernetes: { release: { values: { nfd: null } } } },
  ));

test("the taint nvidia.com/gpu with NoSchedule adds no toleration to the default one", () =>
  expectPlan(
    { machine: { taints: { "nvidia.com/gpu": "present:NoSchedule" } } },
    { kubernetes: { tolerations: [nvidiaToleration] } },
  ));

test("the taint nvidia.com/gpu with NoExecute adds a second toleration", () =>
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

test("a machine's taint is split at its colon into value and effect", () =>
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

test("on Talos 1.14, the patch of an Omni machine has no taints, since the machine may have a KubeletConfig", () =>
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
    { packagePatch: { machine: { kubelet: null } } },
  ));

test("on Talos 1.13, the patch of an Omni machine lets the kubelet register its taints", () =>
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
      packagePatch: {
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
