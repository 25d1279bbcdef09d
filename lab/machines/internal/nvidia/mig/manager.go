// Package mig stands in for nvidia-mig-manager, which splits a machine's cards as its node's label says (mig-parted).
package mig

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// Manager is the program with a client that may do everything.
type Manager struct{ client kubernetes.Interface }

// New prepares it.
func New(client kubernetes.Interface) *Manager { return &Manager{client: client} }

// look is how often the manager looks at its node's label.
const look = 20 * time.Second

// Run is nvidia-mig-manager (mig-parted cmd/nvidia-mig-manager/main.go): it follows the node's label
// nvidia.com/mig.config, one value after the other.
func (m *Manager) Run(ctx context.Context, c *programs.Container) int {
	minor := 0
	_, _ = fmt.Sscanf(programs.TagOf(c.Spec.Image), "v0.%d", &minor)
	if c.Env["CONFIG_FILE"] == "" && minor < 14 { // newer ones generate it
		return c.Fails("Error: invalid -f <config-file> flag: must not be empty string")
	}
	root := c.Env["NVIDIA_DRIVER_ROOT"]
	cdi := c.Env["CDI_ENABLED"] == "true" && root != c.Env["NVIDIA_DEV_ROOT"]
	if cdi && (c.Machine.Snapshot().Era != host.EraCDI || filepath.Clean(root) != "/usr/local") {
		return c.Fails("Error: failed to get paths required for cdi: failed to locate driver libraries: error locating \"libnvidia-ml.so.1\" below %s", root)
	}
	if c.Ready != nil {
		c.Ready()
	}
	for last := ""; ; {
		node, err := m.client.CoreV1().Nodes().Get(ctx, c.Machine.Name(), metav1.GetOptions{})
		if err == nil && node.Labels[nodelabels.MIGConfig] != last && node.Labels[nodelabels.MIGConfig] != "" {
			last = node.Labels[nodelabels.MIGConfig]
			c.Logf("Updating to MIG config: %s", last)
			if err = m.reconfigure(ctx, c, minor, last); err == nil {
				c.Logf("Successfully updated to MIG config: %s", last)
			}
		}
		if err != nil {
			c.Logf("Error: %v", err)
		}
		if c.Machine.Clock().Sleep(ctx, look) != nil {
			return programs.ExitTerminated
		}
	}
}

// reconfigure on Talos, and say on the node how it ended. From v0.13 on it connects to the host's systemd first: Talos has a socket at that
// path, on which nobody answers, and the handshake has no limit (mig-parted#356, pkg/mig/reconfigure/reconfigure.go). With
// WITH_SHUTDOWN_HOST_GPU_CLIENTS it copies itself below /usr/local of the host before that, which Talos has read-only; until v0.12.3
// (deployments/container/reconfigure-mig.sh) it goes on then, with a command that is not there.
func (m *Manager) reconfigure(ctx context.Context, c *programs.Container, minor int, name string) error {
	onHost := c.Env["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] == "true"
	if minor >= 13 {
		if onHost {
			return errors.New("failed to copy nvidia-mig-parted to host: failed to create directory: mkdir /host/usr/local/nvidia: read-only file system")
		}
		<-ctx.Done()
		return ctx.Err()
	}
	err := errors.New("chroot: failed to run command ‘/usr/local/nvidia/mig-manager/nvidia-mig-parted’: No such file or directory")
	if !onHost {
		err = m.script(ctx, c, name)
	}
	state := "success"
	if err != nil {
		state = "failed"
	}
	c.Logf("Changing the '%s' node label to '%s'", nodelabels.MIGState, state)
	return errors.Join(err, nodelabels.Set(ctx, m.client, c.Machine.Name(), map[string]string{nodelabels.MIGState: state}))
}

// script is reconfigure-mig.sh: assert, mode, devices. It has the pods that hold the cards go before and come back afterwards; here they
// begin again afterwards.
func (m *Manager) script(ctx context.Context, c *programs.Container, name string) error {
	if !c.SeesNVML() {
		return errors.New("error initializing NVML: ERROR_LIBRARY_NOT_FOUND")
	}
	text, err := c.Read(c.Env["CONFIG_FILE"])
	if err != nil {
		return fmt.Errorf("error parsing config file: read error: %w", err)
	}
	config, err := configOf(text, name, gpu.Cards(c.Machine))
	if err != nil {
		return err
	}
	if config.applied(gpu.Cards(c.Machine)) {
		c.Logf("Selected MIG config is already applied")
		return nil
	}
	if err := apply(c, config); err != nil {
		return err
	}
	if c.Machine.Snapshot().Era == host.EraLegacy && c.Env["CDI_ENABLED"] == "true" {
		return errors.New("chroot: failed to run command ‘nvidia-smi’: No such file or directory")
	}
	c.Machine.Event("MIG manager applied %s", name)
	return m.client.CoreV1().Pods(c.Pod.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{
		LabelSelector: "app in (" + strings.Join(clients, ",") + ")", FieldSelector: "spec.nodeName=" + c.Machine.Name()})
}

// clients of the cards: the label app of their pods.
var clients = []string{"nvidia-device-plugin-daemonset", "gpu-feature-discovery", "nvidia-dcgm-exporter", "nvidia-dcgm", "nvidia-operator-validator"}

// apply changes the mode of all cards, and then their devices. Cards that a container still has are in use, and refuse both.
func apply(c *programs.Container, config entries) error {
	if c.Devices != nil && c.Devices.InUse("nvidia.com/") {
		return errors.New("error applying MIG configuration: In use by another client")
	}
	var pending error
	for _, card := range gpu.Cards(c.Machine) {
		if on, _ := config.of(card); card.Split != on {
			inForce, err := gpu.SetMIGMode(c.Machine, card, on)
			if err != nil {
				return err
			}
			if !inForce {
				pending = fmt.Errorf("error resetting GPU %d: In use by another client; its MIG mode stays pending until it is reset", card.Index)
			}
		}
	}
	if pending != nil {
		return pending
	}
	for _, card := range gpu.Cards(c.Machine) {
		if on, devices := config.of(card); on {
			if err := gpu.Split(c.Machine, card, devices); err != nil {
				return err
			}
		}
	}
	return nil
}
