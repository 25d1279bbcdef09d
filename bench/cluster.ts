import type { ClusterSpec, MachineSpec } from "../components/recipe/stack/spec/index";

/** A cluster of workers with a card each, every other one owned, upgraded ten at a time. */
export function clusterOf(count: number): ClusterSpec {
  const machines = Array.from({ length: count }, (_, index) => [nodeName(index), machine(index)] as const);
  return {
    talosVersion: "v1.12.6",
    kubernetesVersion: "v1.35.0",
    clusterName: "bench",
    clusterEndpoint: "https://10.0.0.10:6443",
    machines: Object.fromEntries(machines),
    gpuOperator: { version: "v25.10.1" },
    upgrade: { maxParallel: window },
  };
}

/** Machines upgraded at a time. */
export const window = 10;

/** Names that sort as they count. */
export const nodeName = (index: number): string => `gpu-${String(index).padStart(4, "0")}`;

/** Address of a machine's Talos API. */
export const addressOf = (index: number): string => `10.1.${Math.floor(index / 250)}.${(index % 250) + 1}`;

/** Whether the stack holds a machine's configuration. */
export const isOwned = (index: number): boolean => index % 2 === 0;

function machine(index: number): MachineSpec {
  return {
    address: addressOf(index),
    role: "worker",
    configuration: isOwned(index) ? "owned" : "adopted",
    gpus: [{ model: "RTX 5070 Ti" }],
  };
}

const pair = "{ crt: Y3J0, key: a2V5 }";

/** Credentials as the real tools write them, made up: nothing of them opens anything. */
export const credentials = {
  machineSecrets: `
cluster: { id: aWQ=, secret: c2VjcmV0 }
secrets: { bootstraptoken: aaaaaa.bbbbbbbbbbbbbbbb, secretboxencryptionsecret: c2VjcmV0 }
trustdinfo: { token: aaaaaa.bbbbbbbbbbbbbbbb }
certs: { etcd: ${pair}, k8s: ${pair}, k8saggregator: ${pair}, k8sserviceaccount: { key: a2V5 }, os: ${pair} }
`,
  talosconfig: `
context: lab
contexts: { lab: { endpoints: [192.0.2.1], ca: Y2E=, crt: Y3J0, key: a2V5 } }
`,
  kubeconfig:
    "apiVersion: v1\nkind: Config\nclusters: [{ name: lab, cluster: { server: 'https://192.0.2.1:6443' } }]\n",
};
