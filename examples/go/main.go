// A GPU cluster from Go. `pulumi package add ../../components` makes the SDK and its lines in go.mod.
package main

import (
	talosgpu "github.com/OWNER/talos-gpu/sdk/go/talosgpu"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

// kubernetesProvider is what `kubernetes.NewProvider` of github.com/pulumi/pulumi-kubernetes/sdk/v4 registers; a program that has
// that SDK uses it instead.
type kubernetesProvider struct {
	pulumi.ProviderResourceState
}

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
		kubeconfig := settings.RequireSecret("kubeconfig")
		// Objects in Kubernetes are made through this provider. The cluster's own Kubeconfig drains machines and looks at objects.
		// With an identifier the provider takes another server's URL for the same cluster; without, Pulumi would replace every object.
		var kubernetes kubernetesProvider
		given := pulumi.Map{"kubeconfig": kubeconfig, "clusterIdentifier": pulumi.String(ctx.Stack())}
		if err := ctx.RegisterResource("pulumi:providers:kubernetes", "kubernetes", given, &kubernetes); err != nil {
			return err
		}
		role, configuration := talosgpu.MachineRoleWorker, talosgpu.ConfigurationOwnerAdopted
		cluster, err := talosgpu.NewGpuCluster(ctx, "lab", &talosgpu.GpuClusterArgs{
			TalosVersion: "v1.12.6",
			Machines: map[string]talosgpu.MachineEntrySpecArgs{
				"gpu-1": {
					Address:       "192.0.2.21",
					Role:          &role,
					Configuration: &configuration,
					Gpus:          []talosgpu.GpuSpecArgs{{Model: "RTX 5070 Ti"}},
				},
			},
			DevicePlugin: &talosgpu.DevicePluginSpecArgs{Version: "0.17.4"},
			Talosconfig:  settings.RequireSecret("talosconfig"),
			Kubeconfig:   kubeconfig,
		}, pulumi.Providers(&kubernetes))
		if err != nil {
			return err
		}
		// Resolves behind the smoke tests of the GPU machines. A machine whose units are all in use is not tested; GpuReady is then false.
		ctx.Export("runtimeClassName", cluster.RuntimeClassName)
		return nil
	})
}
