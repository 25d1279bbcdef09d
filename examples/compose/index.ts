import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { GpuCluster, Ollama } from "talos-gpu";

const config = new pulumi.Config();
const kubeconfig = config.requireSecret("kubeconfig");
// The identifier keeps the provider if the server's URL changes; without it, Pulumi would replace every object.
const kubernetes = new k8s.Provider("kubernetes", {
  kubeconfig,
  clusterIdentifier: pulumi.getStack(),
});

// A machine of an existing cluster: its owner keeps the configuration, and the package merges its keys in.
const cluster = new GpuCluster(
  "lab",
  {
    talosVersion: "v1.12.6",
    machines: {
      // Two cards, one for each workload below: pods do not share a card.
      "gpu-1": {
        address: "192.0.2.21",
        role: "worker",
        configuration: "adopted",
        gpus: [{ model: "RTX 5070 Ti", count: 2 }],
      },
    },
    devicePlugin: { version: "0.17.4" },
    talosconfig: config.requireSecret("talosconfig"),
    kubeconfig,
  },
  { providers: { kubernetes } },
);

// A workload of this package, on the GPUs of the cluster.
const ollama = new Ollama(
  "chat",
  {
    models: ["llama3.2:3b"],
    runtimeClassName: cluster.runtimeClassName,
    gpuResourceName: cluster.gpuResourceName,
    tolerations: [{ key: "nvidia.com/gpu", operator: "Exists" }],
  },
  { providers: { kubernetes } },
);

// Your own Deployment. It uses two outputs of the cluster, so Pulumi creates it only after the smoke tests of the GPU
// machines: no `dependsOn`, no sleep. If all units of a machine are in use, its smoke test is skipped, and
// `cluster.gpuReady` is false.
const labels = { app: "training" };
const training = new k8s.apps.v1.Deployment(
  "training",
  {
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          runtimeClassName: cluster.runtimeClassName,
          containers: [
            {
              name: "training",
              image: "nvcr.io/nvidia/pytorch:25.01-py3",
              resources: {
                limits: cluster.gpuResourceName.apply((resource) => ({ [resource]: "1" })),
              },
            },
          ],
        },
      },
    },
  },
  { provider: kubernetes },
);

export const drivers = cluster.machines.apply((machines) =>
  Object.fromEntries(
    Object.entries(machines).map(([name, { driverVersion }]) => [name, driverVersion]),
  ),
);
export const chat = ollama.endpoint;
export const trainingName = training.metadata.name;
