import * as gpu from "@pulumi/talos-gpu";
import * as pulumi from "@pulumi/pulumi";

// A GPU cluster by the SDK that `pulumi package add ../../components` makes.
const config = new pulumi.Config();

const cluster = new gpu.GpuCluster("lab", {
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
  kubeconfig: config.requireSecret("kubeconfig"),
});

// Resolves only once a smoke test has passed on every GPU machine.
export const runtimeClassName = cluster.runtimeClassName;
