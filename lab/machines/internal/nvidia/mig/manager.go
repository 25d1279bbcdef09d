// Package mig emulates nvidia-mig-manager, which splits a machine's cards as its node's label says (mig-parted).
package mig

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// Manager is the program with a client that may do everything.
type Manager struct{ client kubernetes.Interface }

// New prepares it.
func New(client kubernetes.Interface) *Manager { return &Manager{client: client} }

// Run is nvidia-mig-manager (mig-parted cmd/nvidia-mig-manager/main.go): it follows the node's label
// nvidia.com/mig.config, one value after the other.
func (m *Manager) Run(ctx context.Context, c *programs.Container) int {
	tag := programs.TagOf(c.Spec.Image)
	if c.Env["CONFIG_FILE"] == "" && olderThan(tag, 0, 14) { // newer ones generate it
		c.Logf("Error: invalid -f <config-file> flag: must not be empty string")
		return 1
	}
	snapshot := c.Machine.Snapshot()
	cdi := c.Env["CDI_ENABLED"] == "true" && c.Env["NVIDIA_DRIVER_ROOT"] != c.Env["NVIDIA_DEV_ROOT"]
	if root := c.Env["NVIDIA_DRIVER_ROOT"]; cdi && (snapshot.Era != host.EraCDI || filepath.Clean(root) != "/usr/local") {
		c.Logf("Error: failed to get paths required for cdi: failed to locate driver libraries: error locating \"libnvidia-ml.so.1\" below %s", root)
		return 1
	}
	wanted, err := m.followMIGConfig(ctx, c.Machine.Name())
	if err != nil {
		c.Logf("Error: %v", err)
		return 1
	}
	if c.Ready != nil {
		c.Ready()
	}
	last := ""
	for {
		c.Logf("Waiting for change to '%s' label", nodelabels.MIGConfig)
		value := ""
		for value == "" || value == last {
			select {
			case <-ctx.Done():
				return 143
			case value = <-wanted:
			}
		}
		last = value
		c.Logf("Updating to MIG config: %s", value)
		if err := m.reconfigureMIG(ctx, c, tag, value); err != nil {
			c.Logf("Error: %v", err)
			continue
		}
		c.Logf("Successfully updated to MIG config: %s", value)
	}
}

// followMIGConfig gives the label's newest value whenever it may have changed.
func (m *Manager) followMIGConfig(ctx context.Context, node string) (<-chan string, error) {
	values := make(chan string, 1)
	newest := func(object any) {
		node, ok := object.(*corev1.Node)
		if !ok {
			return
		}
		select { // an older value that nobody took is worth nothing
		case <-values:
		default:
		}
		values <- node.Labels[nodelabels.MIGConfig]
	}
	factory := informers.NewSharedInformerFactoryWithOptions(m.client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", node).String()
	}))
	informer := factory.Core().V1().Nodes().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: newest, UpdateFunc: func(_, object any) { newest(object) }})
	factory.Start(ctx.Done())
	return values, err
}

// reconfigureMIG on Talos. From v0.13 on it connects to the host's systemd first: Talos has a socket at that path, on which
// nobody answers, and the handshake has no limit (mig-parted#356, pkg/mig/reconfigure/reconfigure.go). With
// WITH_SHUTDOWN_HOST_GPU_CLIENTS it copies itself below /usr/local of the host before that, which Talos has read-only.
func (m *Manager) reconfigureMIG(ctx context.Context, c *programs.Container, tag, value string) error {
	run := &migRun{client: m.client, container: c, value: value}
	onHost := c.Env["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] == "true"
	if !olderThan(tag, 0, 13) {
		if onHost {
			return fmt.Errorf("failed to copy nvidia-mig-parted to host: failed to create directory: mkdir /host/usr/local/nvidia: read-only file system")
		}
		<-ctx.Done()
		return ctx.Err()
	}
	if onHost { // deployments/container/reconfigure-mig.sh, v0.12.3: goes on, with a command that is not there
		c.Logf("mkdir: cannot create directory ‘/host//usr/local/nvidia’: Read-only file system")
		c.Logf("chroot: failed to run command ‘/usr/local/nvidia/mig-manager/nvidia-mig-parted’: No such file or directory")
		return run.end(ctx, "failed", fmt.Errorf("exit status 1"))
	}
	return run.script(ctx)
}

// olderThan compares the version of an image's tag, e.g. v0.12.3-ubuntu20.04.
func olderThan(tag string, major, minor int) bool {
	var have [2]int
	_, _ = fmt.Sscanf(tag, "v%d.%d", &have[0], &have[1])
	return have[0] < major || have[0] == major && have[1] < minor
}
