"""A GPU cluster from Python. `pulumi package add PATH/talos-gpu/components` makes the SDK, `pulumi_talos_gpu`.

`pulumi_kubernetes` comes from PyPI.
"""

import pulumi
import pulumi_kubernetes as k8s
import pulumi_talos_gpu as gpu

config = pulumi.Config()
kubeconfig = config.require_secret("kubeconfig")

# This provider creates the objects in Kubernetes. With its own `kubeconfig`, the cluster drains machines and reads
# objects. The identifier keeps the provider if the server's URL changes; without it, Pulumi would replace every object.
kubernetes = k8s.Provider("kubernetes", kubeconfig=kubeconfig, cluster_identifier=pulumi.get_stack())

cluster = gpu.GpuCluster(
    "lab",
    talos_version="v1.12.6",
    machines={
        "gpu-1": gpu.MachineEntrySpecArgs(
            address="192.0.2.21",
            role=gpu.MachineRole.WORKER,
            configuration=gpu.ConfigurationOwner.ADOPTED,
            gpus=[gpu.GpuSpecArgs(model="RTX 5070 Ti")],
        ),
    },
    device_plugin=gpu.DevicePluginSpecArgs(version="0.17.4"),
    talosconfig=config.require_secret("talosconfig"),
    kubeconfig=kubeconfig,
    opts=pulumi.ResourceOptions(providers=[kubernetes]),
)

# Resolves after the smoke tests of the GPU machines. If all units of a machine are in use, its test is skipped, and
# `gpu_ready` is false.
pulumi.export("runtimeClassName", cluster.runtime_class_name)
