package kubelet

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
)

// podState is what the kubelet knows about a pod and will tell the API server.
type podState struct {
	mutex sync.Mutex
	// containers by name, init containers included.
	containers map[string]*containerState
	sandbox    bool
	initDone   bool
	started    *metav1.Time
	podIP      string
	address    string
	// rejected, when set, is the reason and message with which the pod failed before it ran.
	rejected, message string
	// finished says that no container will run any more.
	finished bool
}

// containerState is one container's.
type containerState struct {
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	ready    bool
	started  bool
	id       string
	image    string
}

func newPodState(pod *corev1.Pod) *podState {
	state := &podState{containers: map[string]*containerState{}}
	for _, container := range allContainers(pod) {
		reason := "ContainerCreating"
		if len(pod.Spec.InitContainers) > 0 {
			reason = "PodInitializing"
		}
		state.containers[container.Name] = &containerState{
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
			image: container.Image,
		}
	}
	return state
}

// recall takes over what an earlier boot reported. A container that ran then was ended by the machine: the kubelet finds
// it exited, knows no more, and counts the next start as a restart (kubernetes pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses: reason ContainerStatusUnknown, exit code 137).
func (p *podState) recall(status corev1.PodStatus) {
	for _, old := range append(append([]corev1.ContainerStatus{}, status.InitContainerStatuses...), status.ContainerStatuses...) {
		state, known := p.containers[old.Name]
		if !known {
			continue
		}
		state.restarts, state.last = old.RestartCount, old.LastTerminationState
		switch {
		case old.State.Running != nil:
			state.restarts++
			state.last = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: cri.ExitKilled, Reason: "ContainerStatusUnknown",
				Message:   "The container could not be located when the pod was deleted or the machine rebooted",
				StartedAt: old.State.Running.StartedAt, FinishedAt: metav1.Now(), ContainerID: old.ContainerID,
			}}
		case old.State.Terminated != nil:
			state.last = old.State
		}
	}
	if status.StartTime != nil {
		p.started = status.StartTime
	}
}

// update changes a container's state.
func (p *podState) update(name string, change func(*containerState)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	change(p.containers[name])
}

// change changes the pod's state.
func (p *podState) change(change func(*podState)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	change(p)
}

// servedAt is the address that stands for the port that the pod opened last; "" when it serves nothing.
func (p *podState) servedAt() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.address
}

func allContainers(pod *corev1.Pod) []corev1.Container {
	return append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}
