// A GPU cluster from Go. `pulumi package add ../../components` makes the SDK and its line in go.mod.
package main

import (
	talosgpu "example.com/pulumi-talos-gpu/sdk/go/talos-gpu"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
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
			Kubeconfig:   settings.RequireSecret("kubeconfig"),
		})
		if err != nil {
			return err
		}
		// Resolves only once a smoke test has passed on every GPU machine.
		ctx.Export("runtimeClassName", cluster.RuntimeClassName)
		return nil
	})
}
