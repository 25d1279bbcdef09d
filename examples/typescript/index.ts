import * as k8s from "@pulumi/kubernetes";
import * as gpu from "@pulumi/talos-gpu";
import * as pulumi from "@pulumi/pulumi";

// A GPU cluster from TypeScript. `pulumi package add PATH/talos-gpu/components` makes the SDK.
const config = new pulumi.Config();
const kubeconfig = config.requireSecret("kubeconfig");

// This provider creates the objects in Kubernetes. With its own `kubeconfig`, the cluster drains machines and reads
// objects. The identifier keeps the provider if the server's URL changes; without it, Pulumi would replace every
// object.
const kubernetes = new k8s.Provider("kubernetes", {
  kubeconfig,
  clusterIdentifier: pulumi.getStack(),
});

const cluster = new gpu.GpuCluster(
  "lab",
  {
    talosVersion: "v1.12.6",
    machines: {
      "gpu-1": {
        address: "192.0.2.21",
        role: gpu.MachineRole.Worker,
        configuration: gpu.ConfigurationOwner.Adopted,
        gpus: [{ model: "RTX 5070 Ti" }],
      },
    },
    devicePlugin: { version: "0.17.4" },
    talosconfig: config.requireSecret("talosconfig"),
    kubeconfig,
  },
  { providers: { kubernetes } },
);

// Resolves after the smoke tests of the GPU machines. If all units of a machine are in use, its test is skipped, and
// `gpuReady` is false.
export const runtimeClassName = cluster.runtimeClassName;
