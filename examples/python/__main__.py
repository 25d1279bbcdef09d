"""A GPU cluster from Python. `pulumi package add ../../components` makes the SDK, `pulumi_talos_gpu`.

`pulumi_kubernetes` comes from PyPI.
"""

import pulumi
import pulumi_kubernetes as k8s
import pulumi_talos_gpu as gpu

config = pulumi.Config()
kubeconfig = config.require_secret("kubeconfig")

# Objects in Kubernetes are made through this provider. The cluster's own `kubeconfig` drains machines and looks at objects.
# With an identifier the provider takes another server's URL for the same cluster; without, Pulumi would replace every object.
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

# Resolves behind the smoke tests of the GPU machines. A machine whose units are all in use is not tested; `gpu_ready` is then false.
pulumi.export("runtimeClassName", cluster.runtime_class_name)
