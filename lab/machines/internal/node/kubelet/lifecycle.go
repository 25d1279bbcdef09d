package kubelet

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/logs"
)

// initialize runs the init containers one after the other. One with restartPolicy Always goes on beside the rest.
func (w *worker) initialize(ctx context.Context, folders map[string]string) bool {
	for i := range w.pod.Spec.InitContainers {
		container := &w.pod.Spec.InitContainers[i]
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			go w.keep(ctx, container, folders, corev1.RestartPolicyAlways)
			continue
		}
		policy := w.pod.Spec.RestartPolicy
		if policy == corev1.RestartPolicyAlways {
			policy = corev1.RestartPolicyOnFailure // an init container that is done is done
		}
		if code, ran := w.keep(ctx, container, folders, policy); !ran || code != 0 {
			return false
		}
	}
	w.state.change(func(s *podState) {
		s.initDone = true
		for _, container := range w.pod.Spec.Containers {
			if own := s.containers[container.Name]; own.state.Waiting != nil {
				own.state = waiting("ContainerCreating", "")
			}
		}
	})
	w.publish(ctx)
	return ctx.Err() == nil
}

// main runs the containers side by side until all have ended for good.
func (w *worker) main(ctx context.Context, folders map[string]string) {
	var all sync.WaitGroup
	for i := range w.pod.Spec.Containers {
		all.Go(func() { w.keep(ctx, &w.pod.Spec.Containers[i], folders, w.pod.Spec.RestartPolicy) })
	}
	all.Wait()
}

// Restart delays (kubernetes v1.36 pkg/kubelet/kubelet.go: 10 s doubling to 5 minutes, forgotten after 10 good minutes).
const (
	firstBackOff = 10 * time.Second
	lastBackOff  = 5 * time.Minute
	goodRun      = 10 * time.Minute
)

// keep runs a container as often as the policy wants, and returns the last exit code; ran is false when it was cut short.
func (w *worker) keep(ctx context.Context, container *corev1.Container, folders map[string]string, policy corev1.RestartPolicy) (code int, ran bool) {
	if w.endedByReboot(container.Name, policy) {
		return cri.ExitKilled, false
	}
	clock := w.session.machine.Clock()
	delay := firstBackOff
	for {
		began := clock.Now()
		code, created := w.attempt(ctx, container, folders)
		if ctx.Err() != nil {
			return code, false
		}
		if created && (policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && code == 0) {
			return code, true
		}
		if clock.Now()-began > goodRun.Seconds() {
			delay = firstBackOff
		}
		if !created {
			// The runtime refused: the pod worker comes by again with its next sync.
			if clock.Sleep(ctx, delay) != nil {
				return code, false
			}
			delay = min(2*delay, lastBackOff)
			continue
		}
		w.crash(ctx, container, delay)
		if clock.Sleep(ctx, delay) != nil {
			return code, false
		}
		delay = min(2*delay, lastBackOff)
		w.state.update(container.Name, func(own *containerState) { own.restarts++ })
	}
}

// endedByReboot: with restartPolicy Never, a container that a reboot ended stays ended, and the pod fails.
func (w *worker) endedByReboot(name string, policy corev1.RestartPolicy) bool {
	ended := false
	w.state.update(name, func(own *containerState) {
		if policy == corev1.RestartPolicyNever && own.last.Terminated != nil && own.state.Waiting != nil {
			own.state, own.last, ended = own.last, corev1.ContainerState{}, true
			own.restarts = 0
		}
	})
	return ended
}

// crash shows that the container waits for its next start.
func (w *worker) crash(ctx context.Context, container *corev1.Container, delay time.Duration) {
	message := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", delay, container.Name, w.pod.Name, w.pod.Namespace, w.pod.UID)
	w.event(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)", container.Name, w.pod.Name, w.pod.Namespace, w.pod.UID)
	w.state.update(container.Name, func(own *containerState) {
		own.last, own.state = own.state, waiting("CrashLoopBackOff", message)
	})
	w.publish(ctx)
}

// attempt pulls, creates, starts and waits for a container once. created is false when the runtime refused it.
func (w *worker) attempt(ctx context.Context, spec *corev1.Container, folders map[string]string) (code int, created bool) {
	if !w.pull(ctx, spec) {
		return 0, false
	}
	container, reason, err := w.create(ctx, spec, folders)
	if err != nil {
		w.event(corev1.EventTypeWarning, "Failed", "Error: %v", err)
		if reason == startError {
			return w.notStarted(ctx, spec.Name, err), true
		}
		w.state.update(spec.Name, func(own *containerState) { own.state = waiting(reason, err.Error()) })
		w.publish(ctx)
		return 0, false
	}
	w.event(corev1.EventTypeNormal, "Created", "Container created")
	running, kill := context.WithCancel(ctx)
	defer kill()
	log := logs.NewTail(messageLimit)
	file, err := logs.Open(w.session.machine.RootFS(), w.pod, spec.Name)
	if err != nil {
		w.session.logf("log of %s %s: %v", w.name(), spec.Name, err)
	} else {
		defer file.Close()
	}
	container.Output = logs.Tee(file, log)
	began, id := metav1.Now(), containerID()
	w.mutex.Lock()
	w.running[spec.Name] = container
	w.mutex.Unlock()
	w.state.update(spec.Name, func(own *containerState) {
		own.id, own.started, own.ready = id, spec.StartupProbe == nil, false
		own.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
	})
	w.event(corev1.EventTypeNormal, "Started", "Container started")
	done := make(chan int, 1)
	go func() { done <- container.Run(running, container.Argv, container.Output) }()
	watchdog := w.watch(running, kill, container)
	code = <-done
	kill()
	<-watchdog
	container.Remove()
	w.mutex.Lock()
	delete(w.running, spec.Name)
	w.mutex.Unlock()
	w.state.update(spec.Name, func(own *containerState) {
		own.ready, own.started = false, false
		own.state = corev1.ContainerState{Terminated: ended(code, began, id, terminationMessage(container, code, log.Text()))}
	})
	if w.session.ctx.Err() == nil {
		w.publish(ctx)
	}
	return code, true
}

// notStarted ends a container that the runtime could not start.
func (w *worker) notStarted(ctx context.Context, name string, err error) int {
	now := metav1.Now()
	terminated := ended(startErrorCode, metav1.Unix(0, 0), containerID(), err.Error())
	terminated.Reason, terminated.FinishedAt = startError, now
	w.state.update(name, func(own *containerState) {
		own.id, own.ready, own.started = terminated.ContainerID, false, false
		own.state = corev1.ContainerState{Terminated: terminated}
	})
	w.publish(ctx)
	return startErrorCode
}

// Limits of a termination message: bytes and lines of one from the log, bytes of one from the file (kubernetes
// pkg/kubelet/container/runtime.go, MaxContainerTerminationMessage…).
const (
	messageLimit     = 2048
	messageLines     = 80
	fileMessageLimit = 4096
)

// terminationMessage is what the container wrote to its message file, or, when that is empty, it failed and its policy says
// so, the end of its log (kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go, getTerminationMessage).
func terminationMessage(container *cri.Container, code int, log string) string {
	path := container.Spec.TerminationMessagePath
	if path != "" {
		if text, err := os.ReadFile(container.Paths.Resolve(path)); err == nil && len(text) > 0 {
			return string(text[:min(len(text), fileMessageLimit)])
		}
	}
	if container.Spec.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError || code == 0 {
		return ""
	}
	return logs.LastLines(log, messageLines)
}

// ended describes how a container ended.
func ended(code int, began metav1.Time, id, message string) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: reason, StartedAt: began, FinishedAt: metav1.Now(), ContainerID: id, Message: message}
}
