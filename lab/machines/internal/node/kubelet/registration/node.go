// Package registration is the kubelet's part that creates the machine's Node, renews its lease and reports its status.
package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
)

// Node maintains the Node object of a machine.
type Node struct {
	machine host.Machine
	client  kubernetes.Interface
	port    int32
	offer   func() map[string]int
	wake    chan struct{}
}

// New returns the Node of a machine. client has the node's rights. port is the port of the kubelet's API. offer returns
// the amounts of the device plugins' resources.
func New(machine host.Machine, client kubernetes.Interface, port int32, offer func() map[string]int) *Node {
	return &Node{machine: machine, client: client, port: port, offer: offer, wake: make(chan struct{}, 1)}
}

// Changed wakes Run after a change of the machine or of its device plugins' resources.
func (n *Node) Changed() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Register creates the Node, or keeps the one of an earlier boot with its labels and taints. A new Node is not ready
// and has the kubelet's labels and registerWithTaints (kubernetes v1.36 pkg/kubelet/kubelet_node_status.go,
// initialNode).
func (n *Node) Register(ctx context.Context) error {
	name := n.machine.Name()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": runtime.GOARCH}},
		Spec:       corev1.NodeSpec{Taints: n.machine.Snapshot().RegisterWithTaints},
		Status:     n.status(false, notYet),
	}
	_, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

const notYet = "[container runtime status check may not have completed yet, CSINode is not yet initialized]"

// RenewLease renews the kubelet's lease until ctx ends, after a quarter of its 40 seconds (kubernetes
// pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction). This is real time, because the controller manager also waits
// 50 s of real time.
func (n *Node) RenewLease(ctx context.Context) {
	name := n.machine.Name()
	lease.NewController(clock.RealClock{}, n.client, name, 40, nil, 10*time.Second, name, corev1.NamespaceNodeLease, nil).Run(ctx)
}

// startUp is the time from registration to ready, in which a kubelet checks its runtime and network.
const startUp = 3 * time.Second

// retry is the delay after which a failed status update is sent again.
const retry = 10 * time.Second

// Run writes the node's status after every change, until ctx ends. A real kubelet writes it at its next sync, up to 10
// s later.
func (n *Node) Run(ctx context.Context) {
	_ = n.report(ctx, false, notYet)
	if n.machine.Clock().Sleep(ctx, startUp) != nil {
		return
	}
	for {
		for n.report(ctx, true, "kubelet is posting ready status") != nil {
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

// Leave reports the node as not ready before the machine shuts down.
func (n *Node) Leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = n.report(ctx, false, "node is shutting down")
}

// status returns the node's status without its resources.
func (n *Node) status(ready bool, why string) corev1.NodeStatus {
	s, name, now := n.machine.Snapshot(), n.machine.Name(), metav1.Now()
	condition := corev1.NodeCondition{
		Type:               corev1.NodeReady,
		Status:             corev1.ConditionFalse,
		Reason:             "KubeletNotReady",
		Message:            why,
		LastHeartbeatTime:  now,
		LastTransitionTime: now,
	}
	if ready {
		condition.Status, condition.Reason = corev1.ConditionTrue, "KubeletReady"
	}
	return corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.machine.Address()}, {Type: corev1.NodeHostName, Address: name}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: n.port}},
		Conditions:      []corev1.NodeCondition{condition},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID:               host.Identifier(name, "machine"),
			SystemUUID:              host.Identifier(name, "system"),
			BootID:                  s.BootID,
			KernelVersion:           "emulated",
			OSImage:                 "Talos (" + s.TalosVersion + ")",
			ContainerRuntimeVersion: "containerd://emulated",
			KubeletVersion:          "v" + strings.TrimPrefix(s.KubernetesVersion, "v"),
			OperatingSystem:         "linux",
			Architecture:            runtime.GOARCH,
		},
	}
}

// machineSize is the size of every machine of the lab. It is large, so that memory and CPU never prevent scheduling.
var machineSize = map[string]string{"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}

// report patches the node's status. Resources that no plugin offers any more become zero, as after a restart of a
// kubelet (kubernetes pkg/kubelet/kubelet_node_status.go, reconcileExtendedResource).
func (n *Node) report(ctx context.Context, ready bool, why string) error {
	node, err := n.client.CoreV1().Nodes().Get(ctx, n.machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	status, resources := n.status(ready, why), map[string]string{}
	for _, old := range node.Status.Conditions {
		if own := &status.Conditions[0]; old.Type == own.Type && old.Status == own.Status {
			own.LastTransitionTime = old.LastTransitionTime
		}
	}
	for name := range node.Status.Allocatable {
		if devices.IsDevice(string(name)) {
			resources[string(name)] = "0"
		}
	}
	maps.Copy(resources, machineSize)
	for name, count := range n.offer() {
		resources[name] = strconv.Itoa(count)
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{
		"capacity": resources, "allocatable": resources, "addresses": status.Addresses, "daemonEndpoints": status.DaemonEndpoints,
		"nodeInfo": status.NodeInfo, "conditions": status.Conditions,
	}})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().PatchStatus(ctx, n.machine.Name(), body)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "kubelet %s: node status: %v\n", n.machine.Name(), err)
	}
	return err
}
