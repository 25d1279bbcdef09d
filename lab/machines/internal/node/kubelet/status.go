package kubelet

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change changes the kubelet's status of the pod, and publishes it.
func (p *pod) change(ctx context.Context, change func()) {
	p.mutex.Lock()
	change()
	p.mutex.Unlock()
	p.publish(ctx)
}

// update changes a container's status, and publishes it.
func (p *pod) update(ctx context.Context, name string, change func(*corev1.ContainerStatus)) {
	p.change(ctx, func() {
		for _, statuses := range [][]corev1.ContainerStatus{p.status.InitContainerStatuses, p.status.ContainerStatuses} {
			for i := range statuses {
				if statuses[i].Name == name {
					change(&statuses[i])
				}
			}
		}
	})
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// told returns the pod as the API server has it, and its present status (kubernetes v1.36 pkg/kubelet/kubelet_pods.go,
// getPhase; pkg/kubelet/status/generate.go).
func (p *pod) told() (*corev1.Pod, corev1.PodStatus) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	status := *p.status.DeepCopy()
	if status.Phase == "" {
		status.Phase = phaseOf(status, p.initDone, p.finished)
	}
	status.Conditions = conditions(p.current, status, p.sandbox && !p.finished, p.initDone)
	return p.current, status
}

func phaseOf(status corev1.PodStatus, initDone, finished bool) corev1.PodPhase {
	switch {
	case finished && slices.ContainsFunc(status.ContainerStatuses, func(own corev1.ContainerStatus) bool {
		return own.State.Terminated == nil || own.State.Terminated.ExitCode != 0
	}):
		return corev1.PodFailed
	case finished:
		return corev1.PodSucceeded
	case !initDone, slices.ContainsFunc(status.ContainerStatuses, func(own corev1.ContainerStatus) bool {
		return own.State.Waiting != nil && own.LastTerminationState.Terminated == nil
	}):
		return corev1.PodPending
	}
	return corev1.PodRunning
}

// conditions returns the pod's conditions, with those of other clients. A condition with an unchanged value keeps its
// time.
func conditions(pod *corev1.Pod, status corev1.PodStatus, sandbox, initDone bool) []corev1.PodCondition {
	var unready []string
	for _, container := range status.ContainerStatuses {
		if !container.Ready {
			unready = append(unready, container.Name)
		}
	}
	ready, reason, message := len(unready) == 0 && len(status.ContainerStatuses) > 0, "", ""
	switch {
	case status.Phase == corev1.PodSucceeded:
		ready, reason = false, "PodCompleted"
	case status.Phase == corev1.PodFailed:
		ready, reason = false, "PodFailed"
	case !ready:
		reason, message = "ContainersNotReady", "containers with unready status: ["+strings.Join(unready, " ")+"]"
	}
	own := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: is(sandbox)}, {Type: corev1.PodInitialized, Status: is(initDone)},
		{Type: corev1.PodReady, Status: is(ready), Reason: reason, Message: message},
		{Type: corev1.ContainersReady, Status: is(ready), Reason: reason, Message: message},
	}
	for i := range own {
		own[i].LastTransitionTime = metav1.Now()
	}
	for _, old := range pod.Status.Conditions {
		at := slices.IndexFunc(own, func(each corev1.PodCondition) bool { return each.Type == old.Type })
		switch {
		case at < 0:
			own = append(own, old)
		case own[at].Status == old.Status:
			own[at].LastTransitionTime = old.LastTransitionTime
		}
	}
	return own
}

func is(holds bool) corev1.ConditionStatus {
	if holds {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// resync is the delay before the kubelet's status manager tries again (kubernetes pkg/kubelet/status/status_manager.go,
// syncPeriod).
const resync = 10 * time.Second

// publish writes the pod's status. The UID prevents a write to a new pod of the same name.
func (p *pod) publish(ctx context.Context) {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	current, status := p.told()
	if p.session.ctx.Err() != nil {
		return
	}
	object := current.DeepCopy()
	// The controller manager or the scheduler records the claims that were made for the pod. The Node authorizer lets
	// the kubelet read these claims because of the record.
	status.ResourceClaimStatuses, status.ExtendedResourceClaimStatus = current.Status.ResourceClaimStatuses, current.Status.ExtendedResourceClaimStatus
	// The statuses are compared as JSON, because JSON has times in whole seconds, as the API server gets them. The real
	// kubelet also writes only a changed status (kubernetes pkg/kubelet/status/status_manager.go, needsUpdate).
	encoded, err := json.Marshal(status)
	if err == nil && string(encoded) == p.published {
		return
	}
	object.ResourceVersion, object.Status = "", status
	// A pod that is being stopped must still report how it ended.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	written, err := p.session.client.CoreV1().Pods(p.Namespace).UpdateStatus(writing, object, metav1.UpdateOptions{})
	if p.published = ""; err == nil {
		p.published = string(encoded)
		p.mutex.Lock()
		p.current = written
		p.mutex.Unlock()
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		p.session.logf("status of pod %s/%s: %v", p.Namespace, p.Name, err)
		p.session.later(resync, func() { p.publish(ctx) })
	}
}
