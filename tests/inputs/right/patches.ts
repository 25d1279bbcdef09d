import { type Inputs } from "../inputs";

/** Right inputs of patches. */
export const patches: Inputs[] = [
  {
    base: "rtx5070ti",
    at: "patches",
    values: [
      ['machine: {nodeLabels: {rack: "7", nvidia.com/gpu.present: "true"}}\n'],
      ['machine: {nodeLabels: {nvidia.com/gpu.deploy.dcgm-exporter: "false"}}\n'],
      ["machine: {kubelet: {extraArgs: {node-labels: rack=7}}}\n"],
      ["machine: {type: worker}\n"],
      ["machine: {network: {hostname: k8s-worker4.lan}}\n"],
      ["apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: k8s-worker4\n"],
      ["machine: {kubelet: {extraArgs: {node-labels: 'rack=7,example.com/row=b'}}}\n"],
      ["machine: {env: {SSL_CERT_FILE: /etc/ssl/ca.pem, TOKEN_FILE: /var/token}}\n"],
    ],
  },
];
