package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/logs"
	"talos-gpu/lab/machines/internal/node/kubelet/toolkit"
)

// postStart runs a container's hook; a failure kills the container (Kubernetes documentation, "Container Lifecycle Hooks").
func (w *worker) postStart(ctx context.Context, c *cri.Container) error {
	if c.Spec.Lifecycle == nil || c.Spec.Lifecycle.PostStart == nil {
		return nil
	}
	hook := c.Spec.Lifecycle.PostStart
	if hook.Exec == nil {
		return nil
	}
	// siderolabs/extensions#940: the exec's own nvidia-container-cli dies in the glibc loader on Talos 1.12 and before.
	if c.Handler == toolkit.Handler && w.session.machine.Snapshot().Era == host.EraLegacy {
		return fmt.Errorf("PostStartHookError: rpc error: code = Unknown desc = failed to exec in container: failed to start exec: OCI runtime exec failed: " +
			"exec failed: unable to start container process: nvidia-container-cli: initialization error: init 250 result=11: unknown")
	}
	log := logs.NewTail(messageLimit)
	if code := c.Run(ctx, hook.Exec.Command, log); code != 0 && ctx.Err() == nil {
		return fmt.Errorf("PostStartHookError: command '%v' exited with %d: %s", hook.Exec.Command, code, log.Text())
	}
	return nil
}

// terminate ends the pod: preStop hooks first, then the containers get to stop. All within the pod's grace period.
func (w *worker) terminate(ctx context.Context) {
	pod := w.latest()
	grace := time.Duration(corev1.DefaultTerminationGracePeriodSeconds) * time.Second
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	bounded, cancel := context.WithTimeout(ctx, w.session.machine.Clock().Real(grace))
	defer cancel()
	w.mutex.Lock()
	var running []*cri.Container
	for _, container := range w.running {
		running = append(running, container)
	}
	w.mutex.Unlock()
	for _, container := range running {
		w.event(corev1.EventTypeNormal, "Killing", "Stopping container %s", container.Spec.Name)
		if hook := container.Spec.Lifecycle; hook != nil && hook.PreStop != nil && hook.PreStop.Exec != nil {
			log := logs.NewTail(messageLimit)
			if code := container.Run(bounded, hook.PreStop.Exec.Command, log); code != 0 && bounded.Err() == nil {
				w.event(corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: exit code %d: %s", code, log.Text())
			}
		}
	}
}
