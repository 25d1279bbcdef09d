package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/toolkit"
	"talos-gpu/lab/machines/internal/node/programs"
)

// pod is a pod of the node, from its binding to its end (kubernetes pkg/kubelet/pod_workers.go).
type pod struct {
	session *session
	*corev1.Pod
	handler     string
	allocations map[string]devices.Allocation // of the device plugins, by container
	// deleted ends when the pod is deleted at the API server. cancel stops a pod that the API server no longer has.
	deleted        context.Context
	delete, cancel context.CancelFunc

	mutex   sync.Mutex
	current *corev1.Pod // the pod as the API server has it now
	// status is the kubelet's status of the pod, with containers in the order of the specification.
	status            corev1.PodStatus
	sandbox, initDone bool
	finished          bool // no container will run any more

	publishing sync.Mutex
	published  string // the status that the API server last accepted

	reading sync.Mutex
	mounted map[string]mounted // ConfigMaps by name
}

func newPod(s *session, object *corev1.Pod) *pod {
	address := s.machine.Address()
	p := &pod{session: s, Pod: object, current: object}
	p.deleted, p.delete = context.WithCancel(context.Background())
	p.status = corev1.PodStatus{
		HostIP:    address,
		HostIPs:   []corev1.HostIP{{IP: address}},
		StartTime: object.Status.StartTime,
		QOSClass:  object.Status.QOSClass,
	}
	reason := "ContainerCreating"
	if len(object.Spec.InitContainers) > 0 {
		reason = "PodInitializing"
	}
	p.status.InitContainerStatuses = begin(object.Spec.InitContainers, object.Status.InitContainerStatuses, reason)
	p.status.ContainerStatuses = begin(object.Spec.Containers, object.Status.ContainerStatuses, reason)
	return p
}

// begin takes over the container statuses of an earlier boot. A container that ran at the reboot was ended by the
// machine. The kubelet finds it exited without a result, and counts the next start as a restart (kubernetes
// pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses: reason ContainerStatusUnknown, exit code 137).
func begin(containers []corev1.Container, before []corev1.ContainerStatus, reason string) []corev1.ContainerStatus {
	statuses := make([]corev1.ContainerStatus, len(containers))
	for i, container := range containers {
		own := &statuses[i]
		own.Name, own.Image, own.State, own.Started = container.Name, container.Image, waiting(reason, ""), new(bool)
		for _, old := range before {
			if old.Name != own.Name {
				continue
			}
			own.RestartCount, own.LastTerminationState = old.RestartCount, old.LastTerminationState
			if old.State.Terminated != nil {
				own.LastTerminationState = old.State
			}
			if old.State.Running != nil {
				own.RestartCount++
				own.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode:   programs.ExitKilled,
					Reason:     "ContainerStatusUnknown",
					Message:    "The container could not be located when the pod was deleted or the machine rebooted",
					StartedAt:  old.State.Running.StartedAt,
					FinishedAt: metav1.Now(),
				}}
			}
		}
	}
	return statuses
}

// updated stores the pod as the API server has it now.
func (p *pod) updated(object *corev1.Pod) {
	p.mutex.Lock()
	p.current = object
	p.mutex.Unlock()
	if object.DeletionTimestamp != nil {
		p.delete()
	}
}

// run runs the pod until it is gone or the kubelet stops.
func (p *pod) run(ctx context.Context) {
	p.updated(p.Pod)
	if phase := p.Pod.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
		p.live(ctx)
	}
	select {
	case <-ctx.Done():
		return
	case <-p.deleted.Done():
	}
	p.session.devices.Free(string(p.UID))
	p.session.until("removing pod "+p.Namespace+"/"+p.Name, func() error {
		none := int64(0)
		err := p.session.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &none,
			Preconditions:      metav1.NewUIDPreconditions(string(p.UID)), // must not delete a new pod of the same name
		})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
			return nil
		}
		return err
	})
}

// live takes the pod through admission, sandbox, init containers and containers.
func (p *pod) live(ctx context.Context) {
	containers, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.deleted, stop)()
	defer p.finish(ctx)
	if p.deleted.Err() != nil {
		return
	}
	allocations, err := p.session.devices.Admit(p.Pod)
	if err != nil {
		p.event(corev1.EventTypeWarning, "UnexpectedAdmissionError", "Allocate failed due to %v, which is unexpected", err)
		p.change(ctx, func() {
			p.status.Phase, p.status.Reason, p.status.Message = corev1.PodFailed, "UnexpectedAdmissionError", fmt.Sprintf("Pod was rejected: Allocate failed due to %v, which is unexpected", err)
			p.status.InitContainerStatuses, p.status.ContainerStatuses = nil, nil
		})
		return
	}
	p.allocations = allocations
	if !p.retry(containers, "FailedPrepareDynamicResources", "Failed to prepare dynamic resources", p.prepareClaims) {
		return
	}
	p.change(ctx, func() {
		if p.status.StartTime == nil {
			now := metav1.Now()
			p.status.StartTime = &now
		}
	})
	if !p.retry(containers, "FailedCreatePodSandBox", "Failed to create pod sandbox", p.makeSandbox) {
		return
	}
	if !p.initialize(containers) {
		return
	}
	var all sync.WaitGroup
	for i := range p.Spec.Containers {
		all.Go(func() { p.keep(containers, &p.Spec.Containers[i], p.Spec.RestartPolicy) })
	}
	all.Wait()
}

// retry calls do until it succeeds or ctx ends. Each failure is reported by an event.
func (p *pod) retry(ctx context.Context, reason, failed string, do func(context.Context) error) bool {
	for wait := 2 * time.Second; ; wait = min(2*wait, time.Minute) {
		err := do(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			p.event(corev1.EventTypeWarning, reason, "%s: %v", failed, err)
		}
		if p.session.machine.Clock().Sleep(ctx, wait) != nil {
			return false
		}
	}
}

// makeSandbox finds the pod's runtime handler and gives the pod an address.
func (p *pod) makeSandbox(ctx context.Context) error {
	class := ""
	if name := p.Spec.RuntimeClassName; name != nil {
		object, err := p.session.client.NodeV1().RuntimeClasses().Get(ctx, *name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("failed to get sandbox runtime handler: %w", err)
		}
		class = object.Handler
	}
	handler, err := toolkit.HandlerOf(p.session.machine.Snapshot(), class)
	if err != nil {
		return err
	}
	address := p.session.machine.Address()
	if !p.Spec.HostNetwork {
		count := podAddresses.Add(1)
		address = fmt.Sprintf("10.245.%d.%d", count>>8&255, count&255)
	}
	p.handler = handler
	p.change(ctx, func() { p.sandbox, p.status.PodIP, p.status.PodIPs = true, address, []corev1.PodIP{{IP: address}} })
	return nil
}

// initialize runs the init containers one after the other. A sidecar (restartPolicy Always) continues to run.
func (p *pod) initialize(ctx context.Context) bool {
	for i := range p.Spec.InitContainers {
		container := &p.Spec.InitContainers[i]
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			go p.keep(ctx, container, corev1.RestartPolicyAlways)
			continue
		}
		policy := p.Spec.RestartPolicy
		if policy == corev1.RestartPolicyAlways {
			policy = corev1.RestartPolicyOnFailure // an init container that has succeeded does not run again
		}
		if !p.keep(ctx, container, policy) {
			return false
		}
	}
	p.change(ctx, func() { p.initDone = true })
	return ctx.Err() == nil
}

// finish reports that no container runs any more. It also sets the state of containers that did not terminate before
// the pod was deleted.
func (p *pod) finish(ctx context.Context) {
	if p.session.ctx.Err() != nil {
		return // the machine shuts down, so no kubelet reports
	}
	deleted := p.deleted.Err() != nil
	p.session.devices.Free(string(p.UID))
	p.change(ctx, func() {
		p.finished = true
		for _, statuses := range [][]corev1.ContainerStatus{p.status.InitContainerStatuses, p.status.ContainerStatuses} {
			for i := range statuses {
				statuses[i].Ready = false
				if deleted && statuses[i].State.Terminated == nil {
					statuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
						ExitCode: programs.ExitKilled,
						Reason:   "ContainerStatusUnknown",
						Message:  "The container could not be located when the pod was terminated",
					}}
				}
			}
		}
	})
}

// event records an event about the pod, from component kubelet of this node.
func (p *pod) event(kind, reason, format string, args ...any) {
	if p.session.ctx.Err() == nil {
		p.session.recorder.Eventf(p.Pod, kind, reason, format, args...)
	}
}
