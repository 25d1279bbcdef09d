package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/kubelet/inputs"
	"talos-gpu/lab/machines/internal/node/kubelet/toolkit"
)

// pull takes the image's time, once per image and machine.
func (w *worker) pull(ctx context.Context, container *corev1.Container) bool {
	if w.session.runtime.HasImage(container.Image) {
		w.event(corev1.EventTypeNormal, "Pulled", "Container image %q already present on machine and can be accessed by the pod", container.Image)
		return true
	}
	w.event(corev1.EventTypeNormal, "Pulling", "Pulling image %q", container.Image)
	rule := w.session.runtime.Rule(container.Image)
	if rule.Absent != "" {
		w.notPulled(ctx, container, rule.Absent)
		return false
	}
	took := rule.PullTime()
	if w.session.machine.Clock().Sleep(ctx, took) != nil {
		return false
	}
	w.session.runtime.AddImage(container.Image)
	w.event(corev1.EventTypeNormal, "Pulled", "Successfully pulled image %q in %s (%s including waiting). Image size: %d bytes.", container.Image, took, took, imageSize)
	return true
}

// imageSize stands for every image: nothing is kept of one.
const imageSize = 1 << 20

// notPulled reports a failed pull as the kubelet does.
func (w *worker) notPulled(ctx context.Context, container *corev1.Container, why string) {
	message := fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: failed to resolve reference %q: %s: %s", container.Image, container.Image, container.Image, why)
	w.event(corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %s", container.Image, message)
	reason := "ErrImagePull"
	w.state.update(container.Name, func(own *containerState) {
		if own.state.Waiting != nil && own.state.Waiting.Reason == reason {
			reason, message = "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", container.Image, message)
		}
		own.state = waiting(reason, message)
	})
	w.event(corev1.EventTypeWarning, "Failed", "Error: %s", reason)
	if reason == "ImagePullBackOff" {
		w.event(corev1.EventTypeNormal, "BackOff", "Back-off pulling image %q", container.Image)
	}
	w.publish(ctx)
}

// startError is the reason of a container that was created but not started: the runtime's hooks run in between. Unlike the
// other reasons it is an end, with exit code 128, and counts as a run (containerd internal/cri/server/container_start.go).
const (
	startError     = "StartError"
	startErrorCode = 128
)

// create makes a container as kubelet and runtime do together. An error comes with the reason for which the container waits.
func (w *worker) create(ctx context.Context, spec *corev1.Container, folders map[string]string) (*cri.Container, string, error) {
	machine := w.session.machine
	snapshot := machine.Snapshot()
	rule := w.session.runtime.Rule(spec.Image)
	allocation := w.allocations[spec.Name]
	env, err := inputs.Env(rule.Env, allocation.Env, w.pod, spec, inputs.From(ctx, w.session.client, w.pod.Namespace, w.podIP, machine.Address()))
	if err != nil {
		return nil, "CreateContainerConfigError", err
	}
	injected, err := toolkit.Inject(gpu.Cards(machine), snapshot, toolkit.Request{
		Handler: w.handler, Visible: env["NVIDIA_VISIBLE_DEVICES"], Allocation: allocation,
		Monitor: env["NVIDIA_MIG_MONITOR_DEVICES"], Administrator: cri.MayAdminister(spec.SecurityContext),
	})
	if err != nil {
		return nil, startError, err
	}
	if missing := allocation.NoDevice; missing != "" {
		return nil, "CreateContainerError", fmt.Errorf("failed to create containerd container: CDI device injection failed: failed to inject devices: failed to stat CDI host device %q: no such file or directory", missing)
	}
	privileged := spec.SecurityContext != nil && spec.SecurityContext.Privileged != nil && *spec.SecurityContext.Privileged
	own := filepath.Join(w.folder, "containers", spec.Name)
	mounts, written := inputs.Mounts(spec, folders, own)
	if spec.TerminationMessagePath != "" {
		// The kubelet mounts a file of its own there, a new one for every start (kubelet_pods.go, generateTerminationMessage).
		file := filepath.Join(own, "termination-log")
		if err := errors.Join(os.MkdirAll(own, 0o755), os.WriteFile(file, nil, 0o666)); err != nil {
			return nil, "CreateContainerError", err
		}
		mounts[spec.TerminationMessagePath] = file
	}
	for inside, outside := range allocation.Mounts {
		mounts[inside] = filepath.Join(machine.RootFS(), outside)
	}
	paths := cri.NewPaths(mounts, machine.RootFS(), filepath.Join(own, "root"), privileged || len(injected.GPUs) > 0)
	work := filepath.Join(own, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, "CreateContainerError", err
	}
	if err := w.volumes().Write(ctx, written, paths.Rewrite, own); err != nil {
		return nil, "CreateContainerConfigError", err
	}
	argv := rule.CommandOf(spec)
	for i := range argv {
		argv[i] = inputs.Expand(argv[i], env)
	}
	container := cri.Container{
		Pod: w.latest(), Spec: spec, Machine: machine, Argv: argv, Env: env, Handler: w.handler, GPUs: injected.GPUs,
		SharesMemory: slices.ContainsFunc(spec.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.MountPath == "/dev/shm" }),
		Libraries:    injected.Libraries, Paths: paths, PodIP: w.podIP, Devices: w.session.devices,
	}
	return w.session.runtime.Create(container, work, func(address string) {
		w.state.change(func(s *podState) { s.address = address })
		w.publish(ctx)
	}), "", nil
}

// volumes of the pod.
func (w *worker) volumes() inputs.Volumes {
	return inputs.Volumes{Pod: w.pod, Client: w.session.client, RootFS: w.session.machine.RootFS(), Folder: w.folder}
}

// event records an event on the pod, as component kubelet of this node.
func (w *worker) event(kind, reason, format string, args ...any) {
	if w.session.ctx.Err() == nil {
		w.session.recorder.Eventf(w.latest(), kind, reason, format, args...)
	}
}
