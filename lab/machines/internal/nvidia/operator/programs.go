package operator

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// needsNVML runs where the runtime brought NVIDIA's libraries: DCGM, and its exporter with the metrics of idle cards.
func needsNVML(ctx context.Context, c *programs.Container) int {
	if !c.Libraries || len(c.GPUs) == 0 {
		return c.Fails("Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
	}
	if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
		return programs.ExitTerminated
	}
	return c.Serves(ctx, 9400, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, card := range c.GPUs {
			fmt.Fprintf(w, "DCGM_FI_DEV_GPU_UTIL{gpu=\"%d\",UUID=\"%s\",Hostname=\"%s\"} 0\n", card.Index, card.UUID, c.Machine.Name())
		}
	}))
}

// driverManager finds a driver of the host by nvidia-smi under chroot, says so on the node, and fails after a minute
// (k8s-driver-manager cmd/driver-manager/main.go, isHostDriver). Legacy Talos has no nvidia-smi there that runs.
func (o *Operator) driverManager(ctx context.Context, c *programs.Container) int {
	snapshot := c.Machine.Snapshot()
	if snapshot.Era != host.EraCDI || snapshot.DriverVersion == "" {
		c.Logf("NVIDIA GPU driver is not pre-installed on the host")
		return 0
	}
	c.Logf("NVIDIA GPU driver is already pre-installed on the node, disabling the containerized driver on the node")
	if err := nodelabels.Set(ctx, o.client, c.Machine.Name(), map[string]string{nodelabels.DeployPrefix + "driver": "pre-installed"}); err != nil {
		c.Logf("%v", err)
	}
	_ = c.Machine.Clock().Sleep(ctx, time.Minute)
	return 1
}

// toolkit installs into the host, where Talos allows nothing.
func toolkit(_ context.Context, c *programs.Container) int {
	c.Logf("unable to install toolkit: error creating directory /usr/local/nvidia/toolkit: read-only file system")
	return 1
}
