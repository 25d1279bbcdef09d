// A GPU cluster from C#. `pulumi package add ../../components` makes the SDK, Pulumi.TalosGpu, and its line in the project.
using System.Collections.Generic;
using Pulumi;
using Pulumi.TalosGpu;
using Pulumi.TalosGpu.Inputs;

return await Deployment.RunAsync(() =>
{
    var config = new Config();
    var kubeconfig = config.RequireSecret("kubeconfig");

    // Objects in Kubernetes are made through this provider. The cluster's own Kubeconfig drains machines and looks at objects.
    // With an identifier the provider takes another server's URL for the same cluster; without, Pulumi would replace every object.
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

    // Resolves behind the smoke tests of the GPU machines. A machine whose units are all in use is not tested; GpuReady is then false.
    return new Dictionary<string, object?> { ["runtimeClassName"] = cluster.RuntimeClassName };
});
