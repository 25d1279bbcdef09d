package mig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// migRun is one run of reconfigure-mig.sh (mig-parted v0.12.3, deployments/container): assert, pause the pods that hold the
// cards, mode, devices, let the pods come back, and say how it ended on the node.
type migRun struct {
	client    kubernetes.Interface
	container *programs.Container
	value     string
	// deployed are the labels of the operands that the run pauses, as they were.
	deployed map[string]string
}

// clients of the cards in the cluster: what their deploy label ends in, and the label app of their pods.
var clients = []struct{ deploy, app string }{
	{"device-plugin", "nvidia-device-plugin-daemonset"}, {"gpu-feature-discovery", "gpu-feature-discovery"},
	{"dcgm-exporter", "nvidia-dcgm-exporter"}, {"dcgm", "nvidia-dcgm"},
}

// podDeletion is how long the script waits for each kind of pod to go.
const podDeletion = 5 * time.Minute

func (r *migRun) script(ctx context.Context) error {
	c, machine := r.container, r.container.Machine
	node, err := r.client.CoreV1().Nodes().Get(ctx, machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	r.deployed = map[string]string{}
	for _, client := range clients {
		r.deployed[client.deploy] = node.Labels[nodelabels.DeployPrefix+client.deploy]
	}
	if !c.SeesNVML() {
		return r.end(ctx, "failed", fmt.Errorf("error initializing NVML: ERROR_LIBRARY_NOT_FOUND"))
	}
	c.Logf("Asserting that the requested configuration is present in the configuration file")
	configs, err := r.configs()
	if err != nil {
		return r.end(ctx, "failed", err)
	}
	config, known := configs[r.value]
	if !known {
		return r.end(ctx, "failed", fmt.Errorf("error selecting configuration: selected mig-config not present: %s", r.value))
	}
	c.Logf("Selected MIG configuration is valid")
	if machine.Clock().Sleep(ctx, time.Second) != nil {
		return ctx.Err()
	}
	if r.applied(config) {
		c.Logf("Selected MIG config is already applied")
		return r.end(ctx, "success", nil)
	}
	if err := r.label(ctx, map[string]string{nodelabels.MIGState: "pending"}); err != nil {
		return err
	}
	if err := r.pause(ctx); err != nil {
		return err
	}
	if err := r.apply(config); err != nil {
		return r.end(ctx, "failed", err)
	}
	if machine.Clock().Sleep(ctx, 5*time.Second) != nil {
		return ctx.Err()
	}
	if machine.Snapshot().Era == host.EraLegacy && c.Env["CDI_ENABLED"] == "true" {
		return r.end(ctx, "failed", fmt.Errorf("chroot: failed to run command ‘nvidia-smi’: No such file or directory"))
	}
	machine.Event("MIG manager applied %s", r.value)
	c.Logf("Restarting validator pod to re-run all validations")
	if err := r.deletePods(ctx, "nvidia-operator-validator"); err != nil {
		return err
	}
	return r.end(ctx, "success", nil)
}

// configs are those of the file, and those of the machine's cards where the file is the operator's own.
func (r *migRun) configs() (map[string]migEntries, error) {
	text, err := r.container.Read(r.container.Env["CONFIG_FILE"])
	if err != nil {
		return nil, fmt.Errorf("error parsing config file: read error: %w", err)
	}
	return migConfigs(string(text), gpu.Cards(r.container.Machine))
}

// applied: every card is as the configuration says.
func (r *migRun) applied(config migEntries) bool {
	return !slices.ContainsFunc(gpu.Cards(r.container.Machine), func(card gpu.Card) bool {
		on, devices := config.of(card)
		return card.Split != on || !sameSlices(card, devices)
	})
}

// apply changes the mode of all cards, and then their devices. Cards that a container still has are in use, and refuse both.
func (r *migRun) apply(config migEntries) error {
	machine := r.container.Machine
	if r.container.Devices.InUse("nvidia.com/") {
		return fmt.Errorf("error applying MIG configuration: In use by another client")
	}
	var pending []string
	for _, card := range gpu.Cards(machine) {
		on, _ := config.of(card)
		if card.Split == on {
			continue
		}
		r.container.Logf("Updating MIG mode of GPU %d: enabled %v", card.Index, on)
		inForce, err := gpu.SetMIGMode(machine, card, on)
		if err != nil {
			return err
		}
		if !inForce {
			pending = append(pending, fmt.Sprint(card.Index))
		}
	}
	if len(pending) > 0 {
		return fmt.Errorf("error resetting GPUs %s: In use by another client; their MIG mode stays pending until they are reset", strings.Join(pending, ", "))
	}
	for _, card := range gpu.Cards(machine) {
		if on, devices := config.of(card); on {
			if err := gpu.Split(machine, card, devices); err != nil {
				return err
			}
		}
	}
	return nil
}

// pause takes the cards' clients away by their labels, unless somebody set one to false, and waits until they are gone.
func (r *migRun) pause(ctx context.Context) error {
	r.container.Logf("Shutting down all GPU clients in Kubernetes by disabling their component-specific nodeSelector labels")
	if err := r.label(ctx, r.deployLabels("paused-for-mig-change")); err != nil {
		return err
	}
	for _, client := range clients {
		r.container.Logf("Waiting for %s to shutdown", client.deploy)
		if err := r.gone(ctx, client.app); err != nil {
			return err
		}
	}
	return nil
}

func (r *migRun) deployLabels(value string) map[string]string {
	labels := map[string]string{}
	for deploy, before := range r.deployed {
		labels[nodelabels.DeployPrefix+deploy] = value
		if before == "false" {
			labels[nodelabels.DeployPrefix+deploy] = "false"
		}
	}
	return labels
}

// gone waits until no pod of an app is on the node. The real one ends without a word on the node when that takes too long.
func (r *migRun) gone(ctx context.Context, app string) error {
	clock := r.container.Machine.Clock()
	for began := clock.Now(); ; {
		pods, err := r.pods(ctx, app)
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return nil
		}
		if clock.Now()-began > podDeletion.Seconds() {
			return fmt.Errorf("timed out waiting for the condition on pods/%s", pods[0])
		}
		if clock.Sleep(ctx, 5*time.Second) != nil {
			return ctx.Err()
		}
	}
}

func (r *migRun) pods(ctx context.Context, app string) (names []string, err error) {
	list, err := r.client.CoreV1().Pods(r.container.Pod.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return nil, err
	}
	for _, pod := range list.Items {
		if pod.Spec.NodeName == r.container.Machine.Name() {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}

func (r *migRun) deletePods(ctx context.Context, app string) error {
	names, err := r.pods(ctx, app)
	for _, name := range names {
		if err == nil {
			err = r.client.CoreV1().Pods(r.container.Pod.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}
	}
	return err
}

// end lets the clients come back and writes the state.
func (r *migRun) end(ctx context.Context, state string, why error) error {
	if why != nil {
		r.container.Logf("%v", why)
	}
	r.container.Logf("Changing the '%s' node label to '%s'", nodelabels.MIGState, state)
	labels := r.deployLabels("true")
	labels[nodelabels.MIGState] = state
	if err := r.label(ctx, labels); err != nil {
		return err
	}
	if why != nil {
		return fmt.Errorf("exit status 1")
	}
	return nil
}

func (r *migRun) label(ctx context.Context, labels map[string]string) error {
	return nodelabels.Set(ctx, r.client, r.container.Machine.Name(), labels)
}
