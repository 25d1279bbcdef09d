package operator

import (
	"context"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/programs"
)

// driverReady is what the validator writes of a driver of the host; operands read it as environment.
const driverReady = "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\nNVIDIA_DEV_ROOT=/\nDEV_ROOT_CTR_PATH=/host\n"

// validate is nvidia-validator (gpu-operator cmd/nvidia-validator/main.go, v24.9 to v26.7). Every validation deletes its own file first, and writes it
// when it holds. That of the plugin looks 30 times by itself; the others once, unless WITH_WAIT.
func (o *Operator) validate(ctx context.Context, c *programs.Container) int {
	component, attempts := c.Env["COMPONENT"], 1
	if err := os.Remove(c.Marker(component + "-ready")); err != nil && !os.IsNotExist(err) {
		return c.Fails("%v", err)
	}
	if component == "plugin" {
		attempts = 30
	}
	for attempt := 1; ; attempt++ {
		why := o.invalid(ctx, c, component)
		if why == "" {
			content := ""
			if component == "driver" {
				content = driverReady
			}
			if err := c.WriteMarker(component+"-ready", []byte(content)); err != nil {
				return c.Fails("%v", err)
			}
			c.Logf("%s is valid", component)
			return 0
		}
		c.Logf("failed to validate the %s, retrying after 5 seconds: %s", component, why)
		if attempt >= attempts && c.Env["WITH_WAIT"] != "true" {
			return 1
		}
		if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
			return programs.ExitTerminated
		}
	}
}

// invalid says why a component is not; "" where it is well. The CUDA check, which has a pod of its own, is made in place.
func (o *Operator) invalid(ctx context.Context, c *programs.Container, component string) string {
	s := c.Machine.Snapshot()
	isUp := s.DriverVersion != "" && s.DriverVersion == s.LibraryVersion
	switch {
	// On Talos <= 1.12 no place has both library and nvidia-smi (gpu-operator#1687). From 1.13 on the host's /usr/bin has nvidia-smi, so the driver is the
	// host's, and hostPaths.driverInstallDir is not looked at (runValidation; gpu-operator#2501).
	case component == "driver" && (s.Era == host.EraLegacy || s.LibraryVersion == ""):
		return "failed to find the driver: libnvidia-ml.so.1 and nvidia-smi are neither on the host (/usr/bin, /usr/sbin, /bin, /sbin) nor under " + c.Env["DRIVER_INSTALL_DIR"]
	case component == "driver" && !isUp:
		return "nvidia-smi: exit status 9: the driver is not up"
	case component == "toolkit" && (!c.Libraries || len(c.GPUs) == 0):
		return "toolkit is not ready: exec: \"nvidia-smi\": executable file not found in $PATH"
	case component == "cuda" && c.Env["WITH_WORKLOAD"] != "false" && !isUp:
		return "cuda workload failed: no CUDA-capable device is detected"
	case component == "plugin":
		node, err := o.client.CoreV1().Nodes().Get(ctx, c.Machine.Name(), metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		for name, quantity := range node.Status.Allocatable {
			if strings.HasPrefix(string(name), "nvidia.com/") && quantity.Sign() > 0 {
				return ""
			}
		}
		return "GPU resources are not yet discovered by the node"
	}
	return ""
}
