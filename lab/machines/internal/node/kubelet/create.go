package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pull takes the image's time, once per image and machine.
func (w *worker) pull(ctx context.Context, container *corev1.Container) bool {
	if w.session.kubelet.hasImage(container.Image) {
		w.event(corev1.EventTypeNormal, "Pulled", "Container image %q already present on machine and can be accessed by the pod", container.Image)
		return true
	}
	w.event(corev1.EventTypeNormal, "Pulling", "Pulling image %q", container.Image)
	rule := ruleOf(w.session.kubelet.rules, container.Image)
	if rule.Absent != "" {
		w.notPulled(ctx, container, rule.Absent)
		return false
	}
	took := rule.Pull
	if took == 0 {
		took = commonPull
	}
	if w.session.machine.Clock().Sleep(ctx, took) != nil {
		return false
	}
	w.session.kubelet.addImage(container.Image)
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
func (w *worker) create(ctx context.Context, spec *corev1.Container, folders map[string]string) (*Container, string, error) {
	machine := w.session.machine
	snapshot := machine.Snapshot()
	rule := ruleOf(w.session.kubelet.rules, spec.Image)
	allocation := w.allocations[spec.Name]
	env, err := resolveEnv(rule.Env, allocation.Env, w.pod, spec, w.lookups(ctx))
	if err != nil {
		return nil, "CreateContainerConfigError", err
	}
	injected, err := inject(CardsOf(machine), snapshot, request{
		handler: w.handler, visible: env["NVIDIA_VISIBLE_DEVICES"], allocation: allocation,
		monitor: env["NVIDIA_MIG_MONITOR_DEVICES"], administrator: MayAdminister(spec.SecurityContext),
	})
	if err != nil {
		return nil, startError, err
	}
	if missing := allocation.NoDevice; missing != "" {
		return nil, "CreateContainerError", fmt.Errorf("failed to create containerd container: CDI device injection failed: failed to inject devices: failed to stat CDI host device %q: no such file or directory", missing)
	}
	privileged := spec.SecurityContext != nil && spec.SecurityContext.Privileged != nil && *spec.SecurityContext.Privileged
	own := filepath.Join(w.folder, "containers", spec.Name)
	mounts, written := w.mounts(spec, folders, own)
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
	paths := newPaths(mounts, machine.RootFS(), filepath.Join(own, "root"), privileged || len(injected.gpus) > 0)
	work := filepath.Join(own, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, "CreateContainerError", err
	}
	if err := w.writeFiles(ctx, written, paths, own); err != nil {
		return nil, "CreateContainerConfigError", err
	}
	argv := argvOf(rule, spec)
	for i := range argv {
		argv[i] = expand(argv[i], env)
	}
	return &Container{
		Pod: w.latest(), Spec: spec, Machine: machine, Argv: argv, Env: env, Handler: w.handler, GPUs: injected.gpus,
		Libraries: injected.libraries, Paths: paths, PodIP: w.podIP, Devices: w.session.devices,
		rule: w.session.kubelet.withRuntimePrograms(rule, injected), folder: work, network: w.session.kubelet.network,
		programs: w.session.kubelet.programs, listeners: &listeners{ports: map[int]string{}},
		announce: func(address string) {
			w.state.change(func(s *podState) { s.address = address })
			w.publish(ctx)
		},
	}, "", nil
}

// lookups reads with the kubelet's own rights: only what pods of this node use (Node authorizer).
func (w *worker) lookups(ctx context.Context) sources {
	core, namespace := w.session.client.CoreV1(), w.pod.Namespace
	return sources{
		configMap: func(name string) (*corev1.ConfigMap, error) {
			found, err := core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
			return found, asKubelet(err, "configmap", name)
		},
		secret: func(name string) (*corev1.Secret, error) {
			found, err := core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
			return found, asKubelet(err, "secret", name)
		},
		podIP:  w.podIP,
		hostIP: w.session.machine.Address(),
	}
}

// asKubelet words what is not there as the kubelet does, which asks its own store (kubernetes pkg/kubelet/util/manager/watch_based_manager.go).
func asKubelet(err error, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %q not found", kind, name)
	}
	return err
}

// event records an event on the pod, as component kubelet of this node.
func (w *worker) event(kind, reason, format string, args ...any) {
	if w.session.ctx.Err() == nil {
		w.session.recorder.Eventf(w.latest(), kind, reason, format, args...)
	}
}
