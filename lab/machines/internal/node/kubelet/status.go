package kubelet

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
)

// statusOf is the pod's status as the kubelet reports it (kubernetes v1.36 pkg/kubelet/kubelet_pods.go generateAPIPodStatus,
// pkg/kubelet/status/generate.go).
func statusOf(pod *corev1.Pod, state *podState, hostIP string, now metav1.Time) corev1.PodStatus {
	state.mutex.Lock()
	defer state.mutex.Unlock()
	status := corev1.PodStatus{
		HostIP: hostIP, HostIPs: []corev1.HostIP{{IP: hostIP}}, PodIP: state.podIP, StartTime: state.started, QOSClass: pod.Status.QOSClass,
	}
	if state.podIP != "" {
		status.PodIPs = []corev1.PodIP{{IP: state.podIP}}
	}
	if state.rejected != "" {
		status.Phase, status.Reason, status.Message = corev1.PodFailed, state.rejected, state.message
		status.Conditions = conditions(pod, status, state, now)
		return status
	}
	status.InitContainerStatuses = containerStatuses(pod.Spec.InitContainers, state)
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, state)
	status.Phase = phaseOf(pod, state)
	status.Conditions = conditions(pod, status, state, now)
	return status
}

func containerStatuses(containers []corev1.Container, state *podState) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range containers {
		own := state.containers[container.Name]
		started := own.started
		status := corev1.ContainerStatus{
			Name: container.Name, Image: own.image, State: own.state, LastTerminationState: own.last, RestartCount: own.restarts,
			Ready: own.ready, Started: &started, ContainerID: own.id,
		}
		if own.id != "" {
			status.ImageID = imageID(container.Image)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

func imageID(image string) string {
	name, _, _ := strings.Cut(image, "@")
	digest := host.Identifier(image, "image") + host.Identifier(image, "digest")
	return name + "@sha256:" + strings.ReplaceAll(digest, "-", "")
}

// phaseOf follows getPhase (kubernetes pkg/kubelet/kubelet_pods.go).
func phaseOf(pod *corev1.Pod, state *podState) corev1.PodPhase {
	if state.finished {
		for _, container := range pod.Spec.Containers {
			ended := state.containers[container.Name].state.Terminated
			if ended == nil || ended.ExitCode != 0 {
				return corev1.PodFailed
			}
		}
		return corev1.PodSucceeded
	}
	if !state.initDone {
		return corev1.PodPending
	}
	for _, container := range pod.Spec.Containers {
		own := state.containers[container.Name]
		if own.state.Waiting != nil && own.last.Terminated == nil {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

// conditions of the pod. Those that already have their value keep their time.
func conditions(pod *corev1.Pod, status corev1.PodStatus, state *podState, now metav1.Time) []corev1.PodCondition {
	done := status.Phase == corev1.PodSucceeded
	failed := status.Phase == corev1.PodFailed
	var unready []string
	for _, container := range status.ContainerStatuses {
		if !container.Ready {
			unready = append(unready, container.Name)
		}
	}
	containersReady := !done && !failed && len(unready) == 0 && len(status.ContainerStatuses) > 0
	reason, message := "", ""
	switch {
	case done:
		reason = "PodCompleted"
	case failed:
		reason = "PodFailed"
	case !containersReady:
		reason, message = "ContainersNotReady", "containers with unready status: ["+strings.Join(unready, " ")+"]"
	}
	ready := containersReady
	if ready && !gatesOpen(pod) {
		ready, reason, message = false, "ReadinessGatesNotReady", "corresponding condition of a pod readiness gate is not true"
	}
	list := []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, state.sandbox && !state.finished && !failed, "", ""),
		condition(corev1.PodInitialized, state.initDone, orNothing(!state.initDone, "ContainersNotInitialized"), ""),
		condition(corev1.PodReady, ready, reason, message),
		condition(corev1.ContainersReady, containersReady, orNothing(!containersReady, reason), orNothing(!containersReady, message)),
	}
	for i := range list {
		list[i].LastTransitionTime = now
		for _, old := range pod.Status.Conditions {
			if old.Type == list[i].Type && old.Status == list[i].Status {
				list[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	return list
}

func condition(kind corev1.PodConditionType, holds bool, reason, message string) corev1.PodCondition {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	return corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message}
}

func orNothing(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}

func gatesOpen(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		open := false
		for _, have := range pod.Status.Conditions {
			open = open || have.Type == gate.ConditionType && have.Status == corev1.ConditionTrue
		}
		if !open {
			return false
		}
	}
	return true
}
