package operator

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

func untilStopped(ctx context.Context, _ *cri.Container) int {
	<-ctx.Done()
	return 143
}

// needsNVML runs until it is stopped, where the runtime brought NVIDIA's libraries.
func needsNVML(ctx context.Context, c *cri.Container) int {
	if !c.Libraries || len(c.GPUs) == 0 {
		c.Logf("could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
		return 1
	}
	return untilStopped(ctx, c)
}

// dcgmExporter serves the metrics of idle cards (dcgm-exporter etc/default-counters.csv).
func dcgmExporter(ctx context.Context, c *cri.Container) int {
	if !c.Libraries || len(c.GPUs) == 0 {
		c.Logf("Failed to initialize NVML: could not load NVML library")
		return 1
	}
	if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
		return 143
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "OK") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		for _, card := range c.GPUs {
			labels := fmt.Sprintf(`{gpu="%d",UUID="%s",modelName="NVIDIA %s",Hostname="%s"}`, card.Index, card.UUID, card.Model, c.Machine.Name())
			fmt.Fprintf(w, "DCGM_FI_DEV_GPU_UTIL%s 0\nDCGM_FI_DEV_GPU_TEMP%s 38\nDCGM_FI_DEV_FB_USED%s 0\nDCGM_FI_DEV_FB_FREE%s %d\nDCGM_FI_DEV_XID_ERRORS%s 0\nDCGM_FI_DEV_POWER_USAGE%s %.1f\nDCGM_FI_DEV_SM_CLOCK%s 345\n",
				labels, labels, labels, labels, card.MemoryMiB, labels, labels, card.DefaultPowerW/10, labels)
		}
	})
	c.Logf("Starting webserver on :9400")
	if err := c.Serve(ctx, 9400, mux); err != nil {
		c.Logf("%v", err)
		return 1
	}
	return 143
}

// driverManager finds a driver of the host by nvidia-smi under chroot, says so on the node, and fails after a minute
// (k8s-driver-manager cmd/driver-manager/main.go, isHostDriver). Legacy Talos has no nvidia-smi there that runs.
func (o *Operator) driverManager(ctx context.Context, c *cri.Container) int {
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
func toolkit(_ context.Context, c *cri.Container) int {
	c.Logf("unable to install toolkit: error creating directory /usr/local/nvidia/toolkit: read-only file system")
	return 1
}
