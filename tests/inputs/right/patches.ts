import { yaml } from "../../support/yaml";
import type { RightValues } from "../values";

/** Right values of patches. */
export const patches: RightValues[] = [
  {
    base: "rtx5070ti",
    field: "patches",
    values: [
      [yaml`machine: {nodeLabels: {rack: "7", nvidia.com/gpu.present: "true"}}`],
      [yaml`machine: {nodeLabels: {nvidia.com/gpu.deploy.dcgm-exporter: "false"}}`],
      [yaml`machine: {kubelet: {extraArgs: {node-labels: rack=7}}}`],
      [yaml`machine: {type: worker}`],
      [yaml`machine: {install: {extraKernelArgs: [nvidia_drm.modeset=1]}}`],
      [yaml`machine: {network: {hostname: k8s-worker4.lan}}`],
      [
        yaml`
          apiVersion: v1alpha1
          kind: HostnameConfig
          auto: off
          hostname: k8s-worker4
        `,
      ],
      [yaml`machine: {kubelet: {extraArgs: {node-labels: 'rack=7,example.com/row=b'}}}`],
      [yaml`machine: {env: {SSL_CERT_FILE: /etc/ssl/ca.pem, TOKEN_FILE: /var/token}}`],
    ],
  },
  {
    base: "rtx5070ti",
    field: "machines.k8s-worker4.patches",
    values: [
      [yaml`machine: {files: [{op: create, path: /var/lib/x, content: x}]}`],
      [yaml`machine: {files: [{op: create, path: /etc/kubernetes/manifests/x.yaml, content: x}]}`],
      [yaml`machine: {files: [{op: overwrite, path: /etc/hosts, content: x}]}`],
      [yaml`machine: {files: [{op: append, path: /etc/hosts, content: x}]}`],
      [yaml`machine: {nodeLabels: {rack: "true"}}`],
      [yaml`machine: {nodeLabels: {topology.kubernetes.io/zone: "true"}}`],
      [yaml`machine: {nodeLabels: {node.kubernetes.io/instance-type: "true"}}`],
      [yaml`machine: {nodeLabels: {nvidia.com/gpu.present: "true"}}`],
      [yaml`cluster: {network: {podSubnets: [10.244.0.0/16]}}`],
    ],
  },
  {
    base: "aarhus-h100",
    field: "machines.talos-gpu.patches",
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
      [
        yaml`
          machine:
            nodeLabels:
              node-role.kubernetes.io/gpu: "true"
            nodeTaints:
              a: "b:NoSchedule"
        `,
      ],
    ],
  },
];
