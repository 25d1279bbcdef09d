package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
)

// splitCards is nvidia-mig-manager (mig-parted cmd/nvidia-mig-manager/main.go). It applies the values of the node's
// label nvidia.com/mig.config, one after the other.
func (o *Operator) splitCards(ctx context.Context, c *programs.Container) int {
	minor := 0
	_, _ = fmt.Sscanf(programs.TagOf(c.Spec.Image), "v0.%d", &minor)
	if c.Env["CONFIG_FILE"] == "" && minor < 14 { // newer releases generate it
		return c.Fails("Error: invalid -f <config-file> flag: must not be empty string")
	}
	if c.Ready != nil {
		c.Ready()
	}
	for last := ""; ; {
		node, err := o.client.CoreV1().Nodes().Get(ctx, c.Machine.Name(), metav1.GetOptions{})
		if err == nil && node.Labels[migConfig] != last && node.Labels[migConfig] != "" {
			last = node.Labels[migConfig]
			c.Logf("Updating to MIG config: %s", last)
			state := "success"
			if err = o.reconfigure(ctx, c, minor, last); err != nil {
				state = "failed"
			}
			if state == "success" || minor < 13 {
				c.Logf("Changing the '%s' node label to '%s'", migState, state)
				err = errors.Join(err, setLabels(ctx, o.client, node, map[string]*string{migState: &state}))
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

// reconfigure applies a MIG configuration, with the failures that occur on Talos.
//
// Since v0.13 the manager first connects to the host's systemd. Talos has a socket without a server at that path, and
// the handshake has no timeout (mig-parted#356, pkg/mig/reconfigure/reconfigure.go).
//
// With WITH_SHUTDOWN_HOST_GPU_CLIENTS the manager first copies itself below the host's /usr/local, which is read-only
// on Talos. Releases up to v0.12.3 (deployments/container/reconfigure-mig.sh) then continue, with a command that does
// not exist.
//
// After a success the manager deletes the pods that use the cards, so that they start again.
func (o *Operator) reconfigure(ctx context.Context, c *programs.Container, minor int, name string) error {
	onHost := c.Env["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] == "true"
	switch {
	case minor >= 13 && onHost:
		return errors.New("failed to copy nvidia-mig-parted to host: failed to create directory: mkdir /host/usr/local/nvidia: read-only file system")
	case minor >= 13:
		<-ctx.Done()
		return ctx.Err()
	case onHost:
		return errors.New("chroot: failed to run command ‘/usr/local/nvidia/mig-manager/nvidia-mig-parted’: No such file or directory")
	case !c.SeesNVML():
		return errors.New("error initializing NVML: ERROR_LIBRARY_NOT_FOUND")
	}
	for _, card := range gpu.Cards(c.Machine) {
		devices, known := devicesOf(card.GPU, name)
		if !known {
			return fmt.Errorf("error selecting configuration: selected mig-config not present: %s", name)
		}
		gpu.Split(c.Machine, card, devices)
	}
	c.Machine.Event("MIG manager applied %s", name)
	return o.client.CoreV1().Pods(c.Pod.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{
		LabelSelector: "app in (" + strings.Join(clients, ",") + ")",
		FieldSelector: "spec.nodeName=" + c.Machine.Name()})
}

// clients are the pods that use the cards, by their label app.
var clients = []string{"nvidia-device-plugin-daemonset", "gpu-feature-discovery", "nvidia-dcgm-exporter", "nvidia-operator-validator"}

// devicesOf returns the MIG devices of a card for the name of a configuration. The names are those of the operator's
// list and of the generated one: all-balanced, and every profile with its maximum number of devices (mig-parted
// deployments/systemd/config-default.yaml, pkg/mig/builder). The lab knows only the cards of its machines.
func devicesOf(card host.GPU, name string) (devices map[string]int, known bool) {
	profile := strings.TrimPrefix(name, "all-")
	switch {
	case name == "all-disabled":
		return nil, true
	case card.MIG == nil:
		return nil, false
	case name == "all-balanced":
		return card.MIG.Balanced, len(card.MIG.Balanced) > 0
	}
	if engines, isMedia := strings.CutSuffix(profile, ".me"); isMedia { // a card has one set of media engines
		return map[string]int{engines + "+me": 1}, card.MIG.Profiles[engines] > 0
	}
	return map[string]int{profile: card.MIG.Profiles[profile]}, card.MIG.Profiles[profile] > 0
}
