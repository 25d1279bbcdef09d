// Package operator stands in for what runs in the GPU Operator's images, Node Feature Discovery's and the MIG manager's: it sets what others read.
// The programs act while their pods run, by the real API server, with the lab's administrator's rights; Node Feature Discovery's master changes nodes
// with its own.
//
// Facts are those of github.com/NVIDIA/gpu-operator v25.3.4 to v26.7.0 (controllers/state_manager.go, object_controls.go, assets/,
// cmd/nvidia-validator). Its own driver, which the checks refuse on Talos, is not here, nor is what no stack has.
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

	"talos-gpu/lab/machines/internal/node/kubelet/toolkit"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia"
)

// Operator holds what the programs share.
type Operator struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	config  *rest.Config
}

// New prepares the programs, by the configuration of somebody who may do everything.
func New(config *rest.Config) (*Operator, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	return &Operator{client: client, dynamic: objects, config: config}, err
}

// as is a client with the rights of a service account and no others. After a release is gone, a program of it that has not ended yet can change nothing.
func (o *Operator) as(namespace, account string) (kubernetes.Interface, error) {
	own := rest.CopyConfig(o.config)
	own.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + account
	return kubernetes.NewForConfig(own)
}

// Pod as the API has it.
func (o *Operator) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return o.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// look is how often the programs look whether there is something to do.
const look = 20 * time.Second

// Programs of the images.
func (o *Operator) Programs() programs.Programs {
	return programs.Programs{
		"gpu-operator": o.operate, "nvidia-validator": o.validate, "manage-crds": done, "kubectl": done, "cleanup-gpuclusters": done,
		"nfd-worker": o.worker, "nfd-master": o.master, "nfd-gc": collector, "dcgm-exporter": exporter, "nvidia-mig-manager": o.splitCards,
		"gpu-feature-discovery": o.discover, "nvidia-toolkit": plugIn,
	}
}

// plugIn is the toolkit once it is installed: it gives all cards to who may have them, until it ends.
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

func done(context.Context, *programs.Container) int { return 0 }

// exporter runs where the runtime brought NVIDIA's libraries.
func exporter(ctx context.Context, c *programs.Container) int {
	if !c.Libraries || len(c.GPUs) == 0 {
		return c.Fails("Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
	}
	if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
		return programs.ExitTerminated
	}
	return c.Serves(ctx, 9400, programs.Well)
}
