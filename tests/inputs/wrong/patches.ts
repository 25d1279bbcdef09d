import { yaml } from "../../support/yaml";
import type { WrongValues } from "../values";

/** Wrong values of patches. */
export const patches: WrongValues[] = [
  {
    base: "rtx5070ti",
    field: "patches",
    check: "node-labels",
    values: [
      [
        yaml`
          machine:
            nodeLabels:
              nvidia.com/gpu.deploy.device-plugin: "false"
        `,
      ],
      [yaml`machine: {nodeLabels: {nvidia.com/gpu.present: "false"}}`],
      [yaml`machine: {nodeLabels: {nvidia.com/gpu.deploy.operands: "false"}}`],
      [
        yaml`
          machine:
            kubelet:
              extraArgs: { node-labels: "rack=7,nvidia.com/gpu.deploy.device-plugin=false" }
        `,
      ],
    ],
  },
  {
    base: "rtx5070ti",
    field: "patches",
    check: "patch-identity",
    values: [
      [yaml`machine: {type: controlplane}`],
      [yaml`machine: {network: {hostname: other}}`],
      [
        yaml`
          apiVersion: v1alpha1
          kind: HostnameConfig
          auto: off
          hostname: other
        `,
      ],
    ],
  },
  {
    base: "rtx5070ti",
    field: "patches",
    check: "patch-node-labels",
    values: [
      [yaml`machine: {kubelet: {extraArgs: {node-labels: 'a b=c'}}}`],
      [yaml`machine: {kubelet: {extraArgs: {node-labels: node-role.kubernetes.io/gpu=}}}`],
    ],
  },
  {
    base: "rtx5070ti",
    field: "patches",
    check: "kernel-args",
    values: [[yaml`machine: {install: {extraKernelArgs: [module_blacklist=nvidia]}}`]],
  },
  {
    base: "rtx5070ti",
    field: "patches",
    check: "patch-secret",
    values: [
      [yaml`machine: {env: {GITHUB_TOKEN: abc}}`],
      [yaml`machine: {env: {NB_SETUP_KEY: abc}}`],
    ],
  },
  {
    base: "modern",
    field: "patches",
    check: "patch-conflict",
    values: [
      [
        yaml`machine: {network: {hostname: a}}`,
        yaml`
          apiVersion: v1alpha1
          kind: HostnameConfig
          auto: off
          hostname: a
        `,
      ],
      [
        yaml`
          machine: {network: {nameservers: [1.1.1.1]}}
          ---
          apiVersion: v1alpha1
          kind: ResolverConfig
          nameservers: [{address: 9.9.9.9}]
        `,
      ],
      [
        yaml`
          machine: {time: {servers: [a.example]}}
          ---
          apiVersion: v1alpha1
          kind: TimeSyncConfig
          ntp: {servers: [b.example]}
        `,
      ],
    ],
  },
  {
    base: "modern",
    field: "patches",
    check: "patch-identity",
    values: [[yaml`machine: {network: {hostname: gpu-1}}`]],
  },
  {
    base: "rtx5070ti",
    field: "machines.k8s-worker4.patches",
    check: "machine-file-create",
    values: [
      [yaml`machine: {files: [{op: create, path: /etc/x, content: x}]}`],
      [yaml`machine: {files: [{op: create, path: /etc/cri/conf.d/30-extra.part, content: x}]}`],
      [yaml`machine: {files: [{op: create, path: /variable, content: x}]}`],
      [yaml`machine: {files: [{op: delete, path: /var/lib/x, content: x}]}`],
    ],
  },
  {
    base: "rtx5070ti",
    field: "machines.k8s-worker4.patches",
    check: "containerd-part",
    values: [
      [
        yaml`
          machine: {files: [{op: create, path: /etc/cri/conf.d/20-customization.part, content: x}]}
        `,
      ],
    ],
  },
  {
    base: "rtx5070ti",
    field: "machines.k8s-worker4.patches",
    check: "machine-file-once",
    values: [
      [
        yaml`
          machine:
            files:
              - { op: create, path: /var/a, content: x }
              - { op: create, path: /var/a, content: x }
        `,
      ],
    ],
  },
  {
    base: "rtx5070ti",
    field: "machines.k8s-worker4.patches",
    check: "patch-node-labels",
    values: [
      [yaml`machine: {nodeLabels: {node-role.kubernetes.io/gpu: "true"}}`],
      [yaml`machine: {nodeLabels: {app.kubernetes.io/name: "true"}}`],
      [yaml`machine: {nodeLabels: {node-restriction.kubernetes.io/a: "true"}}`],
    ],
  },
  {
    base: "rtx5070ti",
    field: "machines.k8s-worker4.patches",
    check: "patch-role",
    values: [
      [yaml`cluster: {etcd: {advertisedSubnets: [10.0.0.0/8]}}`],
      [yaml`machine: {features: {kubernetesTalosAPIAccess: {enabled: true}}}`],
      [
        yaml`
          machine:
            network:
              interfaces:
                - interface: eth0
                  vlans:
                    - { vlanId: 5, vip: { ip: 10.0.0.9 } }
        `,
      ],
    ],
  },
];
