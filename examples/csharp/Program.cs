// A GPU cluster from C#. `pulumi package add PATH/talos-gpu/components` makes the SDK, Pulumi.TalosGpu, and its line in
// the project.
using System.Collections.Generic;
using Pulumi;
using Pulumi.TalosGpu;
using Pulumi.TalosGpu.Inputs;

return await Deployment.RunAsync(() =>
{
    var config = new Config();
    var kubeconfig = config.RequireSecret("kubeconfig");

    // This provider creates the objects in Kubernetes. With its own Kubeconfig, the cluster drains machines and reads
    // objects. The identifier keeps the provider if the server's URL changes; without it, Pulumi would replace every
    // object.
    var kubernetes = new Pulumi.Kubernetes.Provider("kubernetes", new Pulumi.Kubernetes.ProviderArgs
    {
        KubeConfig = kubeconfig,
        ClusterIdentifier = Deployment.Instance.StackName,
    });

    var cluster = new GpuCluster("lab", new GpuClusterArgs
    {
        TalosVersion = "v1.12.6",
        Machines =
        {
            ["gpu-1"] = new MachineEntrySpecArgs
            {
                Address = "192.0.2.21",
                Role = MachineRole.Worker,
                Configuration = ConfigurationOwner.Adopted,
                Gpus = { new GpuSpecArgs { Model = "RTX 5070 Ti" } },
            },
        },
        DevicePlugin = new DevicePluginSpecArgs { Version = "0.17.4" },
        Talosconfig = config.RequireSecret("talosconfig"),
        Kubeconfig = kubeconfig,
    }, new ComponentResourceOptions { Providers = { kubernetes } });

    // Resolves after the smoke tests of the GPU machines. If all units of a machine are in use, its test is skipped,
    // and GpuReady is false.
    return new Dictionary<string, object?> { ["runtimeClassName"] = cluster.RuntimeClassName };
});
