import * as k8s from "@pulumi/kubernetes";
import * as gpu from "@pulumi/talos-gpu";
import * as pulumi from "@pulumi/pulumi";

// A GPU cluster by the SDK that `pulumi package add ../../components` makes.
const config = new pulumi.Config();
const kubeconfig = config.requireSecret("kubeconfig");

// Objects in Kubernetes are made through this provider. The cluster's own `kubeconfig` drains machines and looks at objects.
// With an identifier the provider takes another server's URL for the same cluster; without, Pulumi would replace every object.
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

// Resolves behind the smoke tests of the GPU machines. A machine whose units are all in use is not tested; `gpuReady` is then false.
export const runtimeClassName = cluster.runtimeClassName;
