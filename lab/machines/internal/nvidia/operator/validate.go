package operator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/programs"
)

// validate is nvidia-validator (gpu-operator cmd/nvidia-validator/main.go, v24.9 to v26.7). Every validation deletes its own
// file first, and writes it when it holds.
func (o *Operator) validate(ctx context.Context, c *programs.Container) int {
	component := c.Env["COMPONENT"]
	check, known := map[string]func() (string, error){
		"driver":  func() (string, error) { return driverStatus(c) },
		"toolkit": func() (string, error) { return "", toolkitStatus(c) },
		"cuda":    func() (string, error) { return "", cudaStatus(c) },
		"plugin":  func() (string, error) { return "", o.pluginStatus(ctx, c) },
	}[component]
	if !known {
		return c.Fails("invalid component: %q", component)
	}
	file := component + "-ready"
	if err := os.Remove(c.Marker(file)); err != nil && !os.IsNotExist(err) {
		return c.Fails("%v", err)
	}
	// plugin-validation looks 30 times by itself; the others once, unless WITH_WAIT.
	attempts := 1
	if component == "plugin" {
		attempts = 30
	}
	for attempt := 1; ; attempt++ {
		content, err := check()
		if err == nil {
			if err := c.WriteMarker(file, []byte(content)); err != nil {
				return c.Fails("%v", err)
			}
			c.Logf("%s is valid", component)
			return 0
		}
		c.Logf("failed to validate the %s, retrying after 5 seconds: %v", component, err)
		if attempt >= attempts && c.Env["WITH_WAIT"] != "true" {
			return 1
		}
		if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
			return programs.ExitTerminated
		}
	}
}

// driverStatus looks for the driver where the validator looks, and says what driver-ready holds. On Talos <= 1.12 no place
// has both library and nvidia-smi (gpu-operator#1687). From 1.13 on the host's /usr/bin has nvidia-smi, so the driver is
// the host's, and hostPaths.driverInstallDir is not looked at (runValidation in cmd/nvidia-validator/main.go; gpu-operator#2501).
func driverStatus(c *programs.Container) (string, error) {
	snapshot := c.Machine.Snapshot()
	if snapshot.Era != host.EraCDI || snapshot.LibraryVersion == "" {
		installDir := cmp.Or(c.Env["DRIVER_INSTALL_DIR"], defaultInstallDir)
		return "", fmt.Errorf("failed to find the driver: libnvidia-ml.so.1 and nvidia-smi are neither on the host (/usr/bin, /usr/sbin, /bin, /sbin) nor under %s", installDir)
	}
	if snapshot.DriverVersion != snapshot.LibraryVersion {
		return "", fmt.Errorf("nvidia-smi: exit status 9: the driver is not up")
	}
	return "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\nNVIDIA_DEV_ROOT=/\nDEV_ROOT_CTR_PATH=/host\n", nil
}

// toolkitStatus runs nvidia-smi, which the runtime must have brought.
func toolkitStatus(c *programs.Container) error {
	if !c.Libraries || len(c.GPUs) == 0 {
		return fmt.Errorf("toolkit is not ready: exec: \"nvidia-smi\": executable file not found in $PATH")
	}
	return nil
}

// cudaStatus stands for the workload pod with a vector addition, which has the cards; this container has none.
// v26.7.0's sample has no code for Volta (gpu-operator#2842).
func cudaStatus(c *programs.Container) error {
	if c.Env["WITH_WORKLOAD"] == "false" {
		return nil
	}
	snapshot := c.Machine.Snapshot()
	if snapshot.DriverVersion == "" || snapshot.DriverVersion != snapshot.LibraryVersion || len(snapshot.GPUs) == 0 {
		return fmt.Errorf("cuda workload failed: no CUDA-capable device is detected")
	}
	if programs.TagOf(c.Spec.Image) == "v26.7.0" && strings.HasPrefix(snapshot.GPUs[0].ComputeCapability, "7.0") {
		return fmt.Errorf("cuda workload failed: no kernel image is available for execution on the device")
	}
	return nil
}

// pluginStatus looks for an NVIDIA resource that the node can allocate.
func (o *Operator) pluginStatus(ctx context.Context, c *programs.Container) error {
	node, err := o.client.CoreV1().Nodes().Get(ctx, c.Machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	for name, quantity := range node.Status.Allocatable {
		if strings.HasPrefix(string(name), "nvidia.com/") && quantity.Sign() > 0 {
			return nil
		}
	}
	return fmt.Errorf("GPU resources are not yet discovered by the node")
}
