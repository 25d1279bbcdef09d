import { refused, type WrongInputs } from "../inputs";

/** Wrong inputs of patches. */
export const patches: WrongInputs[] = [
  ...refused("rtx5070ti", "patches", {
    "node-labels": [
      // What a patch says of the node, and what Talos refuses beside it.
      ['machine:\n  nodeLabels:\n    nvidia.com/gpu.deploy.device-plugin: "false"\n'],
      ['machine: {nodeLabels: {nvidia.com/gpu.present: "false"}}\n'],
      ['machine: {nodeLabels: {nvidia.com/gpu.deploy.operands: "false"}}\n'],
      ["machine: {kubelet: {extraArgs: {node-labels: 'rack=7,nvidia.com/gpu.deploy.device-plugin=false'}}}\n"],
    ],
    "patch-identity": [
      // Patches that make the machine somebody else.
      ["machine: {type: controlplane}\n"],
      ["machine: {network: {hostname: other}}\n"],
      ["apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: other\n"],
    ],
    "patch-node-labels": [
      ["machine: {kubelet: {extraArgs: {node-labels: 'a b=c'}}}\n"],
      ["machine: {kubelet: {extraArgs: {node-labels: node-role.kubernetes.io/gpu=}}}\n"],
    ],
    "patch-secret": [["machine: {env: {GITHUB_TOKEN: abc}}\n"], ["machine: {env: {NB_SETUP_KEY: abc}}\n"]],
  }),
  ...refused("modern", "patches", {
    "patch-conflict": [
      ["machine: {network: {hostname: a}}\n", "apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: a\n"],
      [
        "machine: {network: {nameservers: [1.1.1.1]}}\n---\napiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 9.9.9.9}]\n",
      ],
      [
        "machine: {time: {servers: [a.example]}}\n---\napiVersion: v1alpha1\nkind: TimeSyncConfig\nntp: {servers: [b.example]}\n",
      ],
    ],
    "patch-identity": [["machine: {network: {hostname: gpu-1}}\n"]],
  }),
];
