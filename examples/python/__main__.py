"""A GPU cluster from Python. `pulumi package add ../../components` makes the SDK, `pulumi_talos_gpu`."""

import pulumi
import pulumi_talos_gpu as gpu

config = pulumi.Config()

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
    kubeconfig=config.require_secret("kubeconfig"),
)

# Resolves only once a smoke test has passed on every GPU machine.
pulumi.export("runtimeClassName", cluster.runtime_class_name)
