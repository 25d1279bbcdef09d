// Package operator emulates the programs in the images of the GPU Operator, of Node Feature Discovery and of the MIG
// manager. They write what others read. They act on the real API server while their pods run, with the rights of the
// lab's administrator. Only Node Feature Discovery's master uses its service account to change nodes.
//
// The facts are from github.com/NVIDIA/gpu-operator v25.3.4 to v26.7.0 (controllers/state_manager.go,
// object_controls.go, assets/, cmd/nvidia-validator). The package omits the operator's driver, which the checks reject
// on Talos, and everything that no stack uses.
package operator

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/toolkit"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia"
)

// Operator has what the programs share.
type Operator struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	config  *rest.Config
}

// New prepares the programs with an administrator's configuration.
func New(config *rest.Config) (*Operator, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	return &Operator{client: client, dynamic: objects, config: config}, err
}

// as returns a client with only the rights of a service account. So a program that still runs after an uninstall can
// change nothing.
func (o *Operator) as(namespace, account string) (kubernetes.Interface, error) {
	own := rest.CopyConfig(o.config)
	own.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + account
	return kubernetes.NewForConfig(own)
}

// Pod returns a pod from the API.
func (o *Operator) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return o.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// look is the pause before a program reads the cluster again.
const look = 20 * time.Second

// Programs returns the programs of the images.
func (o *Operator) Programs() programs.Programs {
	return programs.Programs{
		"gpu-operator": o.operate, "nvidia-validator": o.validate, "nfd-worker": o.worker, "nfd-master": o.master, "nfd-gc": collector,
		"nvidia-mig-manager": o.splitCards, "gpu-feature-discovery": o.discover, "nvidia-toolkit": plugIn,
	}
}

// plugIn is the toolkit after its installation. It gives all cards to the pods that may have them, until it ends.
func plugIn(ctx context.Context, c *programs.Container) int {
	if c.Env["ENABLE_NRI_PLUGIN"] != "true" {
		return c.Rests(ctx)
	}
	if socket := c.Env["NRI_SOCKET"]; !c.Machine.Snapshot().NRI {
		return c.Fails("unable to start NRI plugin server: failed to find valid nri socket at %s: stat %s: no such file or directory", socket, socket)
	}
	namespaces := append(strings.Split(c.Env["NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES"], ","), c.Pod.Namespace)
	if err := nvidia.WriteFile(c.Root, toolkit.Plugins, strings.Join(namespaces, "\n")); err != nil {
		return c.Fails("%v", err)
	}
	defer os.Remove(filepath.Join(c.Root, toolkit.Plugins))
	c.Logf("Starting the NRI Plugin server....")
	return c.Rests(ctx)
}

// driverReady is the validator's file for a driver of the host. Operands read it as environment variables.
const driverReady = "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\nNVIDIA_DEV_ROOT=/\nDEV_ROOT_CTR_PATH=/host\n"

// validate is nvidia-validator (gpu-operator cmd/nvidia-validator/main.go, v24.9 to v26.7). Every validation first
// deletes its file, and writes it on success. The validation of the plugin tries 30 times. The others try once, or
// without a limit with WITH_WAIT.
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

// invalid returns why a component is not valid, or "". The real CUDA check runs in another pod; here it runs in place.
func (o *Operator) invalid(ctx context.Context, c *programs.Container, component string) string {
	s := c.Machine.Snapshot()
	isUp := s.DriverVersion != "" && s.DriverVersion == s.LibraryVersion
	switch {
	// On Talos <= 1.12 no folder has both the library and nvidia-smi (gpu-operator#1687). Since 1.13 the host's
	// /usr/bin has nvidia-smi. So the driver is the host's, and hostPaths.driverInstallDir is ignored (runValidation;
	// gpu-operator#2501).
	case component == "driver" && (s.Injection == host.InjectionLegacy || s.LibraryVersion == ""):
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
