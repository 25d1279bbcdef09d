// Package registration is the kubelet's part in a machine's Node: it creates the Node, renews its lease and reports its status.
package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
)

// Node is what the kubelet of a machine does for its node.
type Node struct {
	Config
	machine host.Machine
	client  kubernetes.Interface
	wake    chan struct{}
}

// Config of a kubelet, as far as its node shows it.
type Config struct {
	// Port of the kubelet's own API.
	Port int32
	// Offer is how much there is of the device plugins' resources.
	Offer func() map[string]int
	// Recorder takes the kubelet's events.
	Recorder record.EventRecorder
}

// New is the node of a machine; client has the node's own rights.
func New(machine host.Machine, client kubernetes.Interface, config Config) *Node {
	return &Node{Config: config, machine: machine, client: client, wake: make(chan struct{}, 1)}
}

// Changed says that the machine changed, or what its device plugins offer.
func (n *Node) Changed() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Node) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "kubelet %s: %s\n", n.machine.Name(), fmt.Sprintf(format, args...))
}

// Register creates the Node, or finds the one of an earlier boot, whose labels and taints stay.
func (n *Node) Register(ctx context.Context) error {
	node := nodeObject(n.machine.Name(), n.machine.Address(), n.Port, n.machine.Snapshot())
	node.Status.Conditions = readiness(false, notYet, metav1.Now())
	_, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

const notYet = "[container runtime status check may not have completed yet, CSINode is not yet initialized]"

// RenewLease is the heartbeat, until ctx ends: a kubelet's own, renewed after a quarter of its 40 seconds (kubernetes pkg/kubelet/kubelet.go,
// nodeLeaseRenewIntervalFraction), in this computer's time, like the controller manager's patience of 50 s.
func (n *Node) RenewLease(ctx context.Context) {
	name := n.machine.Name()
	lease.NewController(clock.RealClock{}, n.client, name, 40, nil, 10*time.Second, name, corev1.NamespaceNodeLease, nil).Run(ctx)
}

// startUp is how long a kubelet takes from registration to ready: its runtime and network checks.
const startUp = 3 * time.Second

// retry is how soon a status that the API server did not take is told again.
const retry = 10 * time.Second

// Run writes the node's status whenever it changed, until ctx ends. A real kubelet does at its next sync, up to 10 s later.
func (n *Node) Run(ctx context.Context) {
	n.report(ctx, false, notYet)
	if n.machine.Clock().Sleep(ctx, startUp) != nil {
		return
	}
	n.Recorder.Eventf(nodeReference(n.machine.Name()), corev1.EventTypeNormal, "NodeReady", "Node %s status is now: NodeReady", n.machine.Name())
	for {
		for n.report(ctx, true, "") != nil {
			if n.machine.Clock().Sleep(ctx, retry) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
	}
}

// Leave says goodbye before the machine goes down.
func (n *Node) Leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = n.report(ctx, false, "node is shutting down")
}

func nodeReference(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: name, UID: types.UID(name)}
}

// report patches the node's status. Resources that no plugin offers any more become zero, as after a kubelet's restart
// (kubernetes pkg/kubelet/kubelet_node_status.go, reconcileExtendedResource).
func (n *Node) report(ctx context.Context, ready bool, why string) error {
	node, err := n.client.CoreV1().Nodes().Get(ctx, n.machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := nodeStatus(n.machine.Name(), n.machine.Address(), n.Port, n.machine.Snapshot())
	status.Conditions = readiness(ready, why, metav1.Now())
	for i := range status.Conditions {
		for _, old := range node.Status.Conditions {
			if old.Type == status.Conditions[i].Type && old.Status == status.Conditions[i].Status {
				status.Conditions[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	offered := n.Offer()
	patch := map[string]any{
		"capacity":        resources(status.Capacity, offered, node.Status.Capacity),
		"allocatable":     resources(status.Allocatable, offered, node.Status.Allocatable),
		"addresses":       status.Addresses,
		"daemonEndpoints": status.DaemonEndpoints,
		"nodeInfo":        status.NodeInfo,
		"conditions":      status.Conditions,
	}
	body, err := json.Marshal(map[string]any{"status": patch})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().PatchStatus(ctx, n.machine.Name(), body)
	if err != nil && ctx.Err() == nil {
		n.logf("node status: %v", err)
	}
	return err
}

func resources(own corev1.ResourceList, offered map[string]int, reported corev1.ResourceList) map[string]string {
	list := map[string]string{}
	for name := range reported {
		if devices.IsDevice(string(name)) {
			list[string(name)] = "0"
		}
	}
	for name, quantity := range own {
		list[string(name)] = quantity.String()
	}
	for name, count := range offered {
		list[name] = strconv.Itoa(count)
	}
	return list
}
