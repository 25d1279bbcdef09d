// A GPU cluster from Go. `pulumi package add PATH/talos-gpu/components` makes the SDK and its lines in go.mod.
package main

import (
	talosgpu "github.com/OWNER/talos-gpu/sdk/go/talosgpu"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

// kubernetesProvider is what `kubernetes.NewProvider` of github.com/pulumi/pulumi-kubernetes/sdk/v4 registers; a
// program that has that SDK uses it instead.
type kubernetesProvider struct {
	pulumi.ProviderResourceState
}

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
		kubeconfig := settings.RequireSecret("kubeconfig")
		// This provider creates the objects in Kubernetes. With its own Kubeconfig, the cluster drains machines and reads
		// objects. The identifier keeps the provider if the server's URL changes; without it, Pulumi would replace every
		// object.
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
		// Resolves after the smoke tests of the GPU machines. If all units of a machine are in use, its test is skipped, and
		// GpuReady is false.
		ctx.Export("runtimeClassName", cluster.RuntimeClassName)
		return nil
	})
}
