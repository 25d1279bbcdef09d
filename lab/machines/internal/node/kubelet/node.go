package kubelet

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// register creates the Node, or finds the one of an earlier boot, whose labels and taints stay.
func (s *session) register() error {
	node := nodeObject(s.machine.Name(), s.machine.Address(), s.kubelet.logPort, s.machine.Snapshot())
	node.Status.Conditions = readiness(false, notYet, metav1.Now())
	_, err := s.client.CoreV1().Nodes().Create(s.ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

const notYet = "[container runtime status check may not have completed yet, CSINode is not yet initialized]"

// leaseRenewal is in this computer's time, like the controller manager's patience (lab/controlplane: 20 s).
const leaseRenewal = 4 * time.Second

// renewLease is the heartbeat (kubernetes component-helpers/apimachinery/lease).
func (s *session) renewLease() {
	name, seconds := s.machine.Name(), int32(40)
	leases := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	ticker := time.NewTicker(leaseRenewal)
	defer ticker.Stop()
	for {
		now := metav1.NowMicro()
		lease, err := leases.Get(s.ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = leases.Create(s.ctx, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
			}, metav1.CreateOptions{})
		} else if err == nil {
			lease.Spec.RenewTime = &now
			_, err = leases.Update(s.ctx, lease, metav1.UpdateOptions{})
		}
		if err != nil && s.ctx.Err() == nil {
			s.logf("lease: %v", err)
		}
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// nodeReporter writes the node's status when it changed, at the kubelet's next sync.
type nodeReporter struct {
	session *session
	wake    chan struct{}
}

func newNodeReporter(s *session) *nodeReporter {
	return &nodeReporter{session: s, wake: make(chan struct{}, 1)}
}

func (r *nodeReporter) changed() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// startUp is how long a kubelet takes from registration to ready: its runtime and network checks.
const startUp = 3 * time.Second

// statusFrequency is the time between two syncs of the node's status (kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go,
// nodeStatusUpdateFrequency). In between the scheduler sees what the node offered before, while pods are admitted by what
// it has: seen on a real kubelet v1.36.3, which published a change of slices after 7 to 8 s, and refused a pod in between with
// UnexpectedAdmissionError.
const statusFrequency = 10 * time.Second

// untilSync is how long it is to the next sync.
func untilSync(sinceFirst float64) time.Duration {
	frequency := statusFrequency.Seconds()
	return time.Duration((frequency - math.Mod(sinceFirst, frequency)) * float64(time.Second))
}

func (r *nodeReporter) run(ctx context.Context) {
	s := r.session
	r.report(ctx, false, notYet)
	if s.machine.Clock().Sleep(ctx, startUp) != nil {
		return
	}
	s.recorder.Eventf(nodeReference(s.machine.Name()), corev1.EventTypeNormal, "NodeReady", "Node %s status is now: NodeReady", s.machine.Name())
	first := s.machine.Clock().Now()
	toSync := func() error { return s.machine.Clock().Sleep(ctx, untilSync(s.machine.Clock().Now()-first)) }
	for {
		for r.report(ctx, true, "") != nil {
			if toSync() != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		if toSync() != nil {
			return
		}
	}
}

// leave says goodbye before the machine goes down.
func (r *nodeReporter) leave() {
	ctx, cancel := context.WithTimeout(r.session.ctx, 2*time.Second)
	defer cancel()
	_ = r.report(ctx, false, "node is shutting down")
}

func nodeReference(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: name, UID: types.UID(name)}
}

// report patches the node's status. Resources that no plugin offers any more become zero, as after a kubelet's restart
// (kubernetes pkg/kubelet/kubelet_node_status.go, reconcileExtendedResource).
func (r *nodeReporter) report(ctx context.Context, ready bool, why string) error {
	s := r.session
	node, err := s.client.CoreV1().Nodes().Get(ctx, s.machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := nodeStatus(s.machine.Name(), s.machine.Address(), s.kubelet.logPort, s.machine.Snapshot())
	status.Conditions = readiness(ready, why, metav1.Now())
	for i := range status.Conditions {
		for _, old := range node.Status.Conditions {
			if old.Type == status.Conditions[i].Type && old.Status == status.Conditions[i].Status {
				status.Conditions[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	capacity, allocatable := s.devices.Offer()
	patch := map[string]any{
		"capacity":        resources(status.Capacity, capacity, node.Status.Capacity),
		"allocatable":     resources(status.Allocatable, allocatable, node.Status.Allocatable),
		"addresses":       status.Addresses,
		"daemonEndpoints": status.DaemonEndpoints,
		"nodeInfo":        status.NodeInfo,
		"conditions":      status.Conditions,
	}
	body, err := json.Marshal(map[string]any{"status": patch})
	if err != nil {
		return err
	}
	_, err = s.client.CoreV1().Nodes().PatchStatus(ctx, s.machine.Name(), body)
	if err != nil && ctx.Err() == nil {
		s.logf("node status: %v", err)
	}
	return err
}

func resources(own corev1.ResourceList, devices map[string]int, reported corev1.ResourceList) map[string]string {
	list := map[string]string{}
	for name := range reported {
		if isDevice(string(name)) {
			list[string(name)] = "0"
		}
	}
	for name, quantity := range own {
		list[string(name)] = quantity.String()
	}
	for name, count := range devices {
		list[name] = strconv.Itoa(count)
	}
	return list
}
