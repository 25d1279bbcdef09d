package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/kubelet/toolkit"
	"talos-gpu/lab/machines/internal/node/programs"
)

// Restart delays (kubernetes v1.36 pkg/kubelet/kubelet.go): 10 s, doubled up to 5 minutes, and reset after a run of 10
// minutes.
const (
	firstBackOff = 10 * time.Second
	lastBackOff  = 5 * time.Minute
	goodRun      = 10 * time.Minute
)

// keep runs a container as often as the restart policy wants, and returns whether its last run succeeded.
func (p *pod) keep(ctx context.Context, container *corev1.Container, policy corev1.RestartPolicy) bool {
	if policy == corev1.RestartPolicyNever && p.endedByReboot(ctx, container.Name) {
		return false
	}
	clock := p.session.machine.Clock()
	for delay := firstBackOff; ; delay = min(2*delay, lastBackOff) {
		began := clock.Now()
		code := p.attempt(ctx, container)
		if ctx.Err() != nil {
			return false
		}
		if policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && code == 0 {
			return code == 0
		}
		if clock.Now()-began > goodRun.Seconds() {
			delay = firstBackOff
		}
		p.event(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)", container.Name, p.Name, p.Namespace, p.UID)
		p.update(ctx, container.Name, func(own *corev1.ContainerStatus) {
			own.LastTerminationState = own.State
			own.State = waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", delay, container.Name, p.Name, p.Namespace, p.UID))
			own.RestartCount++
		})
		if clock.Sleep(ctx, delay) != nil {
			return false
		}
	}
}

// endedByReboot reports whether a reboot ended the container. With restartPolicy Never such a container stays
// terminated, and the pod fails.
func (p *pod) endedByReboot(ctx context.Context, name string) (ended bool) {
	p.update(ctx, name, func(own *corev1.ContainerStatus) {
		if ended = own.LastTerminationState.Terminated != nil; ended {
			own.State, own.LastTerminationState, own.RestartCount = own.LastTerminationState, corev1.ContainerState{}, 0
		}
	})
	return ended
}

// attempt pulls the image, starts the container and waits for its exit.
func (p *pod) attempt(ctx context.Context, spec *corev1.Container) (code int) {
	rule, _ := programs.RuleOf(p.session.Rules, spec.Image)
	if p.pull(ctx, spec.Image, rule) != nil {
		return 0
	}
	container, err := p.create(ctx, spec, rule)
	if err != nil {
		p.event(corev1.EventTypeWarning, "Failed", "Error: %v", err)
		p.update(ctx, spec.Name, func(own *corev1.ContainerStatus) {
			terminated := ended(startErrorCode, metav1.Unix(0, 0), err.Error())
			terminated.Reason = "StartError"
			own.Ready, own.State = false, corev1.ContainerState{Terminated: terminated}
		})
		return startErrorCode
	}
	running, kill := context.WithCancel(ctx)
	defer kill()
	log := p.session.logs.begin(p.Pod, spec.Name)
	container.Output = log
	probed := spec.ReadinessProbe != nil || spec.StartupProbe != nil
	ready := func(is bool) func(*corev1.ContainerStatus) {
		return func(own *corev1.ContainerStatus) { own.Ready, own.Started = is && own.State.Running != nil, &is }
	}
	container.Ready = func() { p.update(ctx, spec.Name, ready(true)) }
	began := metav1.Now()
	p.update(ctx, spec.Name, func(own *corev1.ContainerStatus) {
		own.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
		ready(!probed)(own)
	})
	if err := p.postStart(spec); err != nil {
		p.event(corev1.EventTypeWarning, "FailedPostStartHook", "%v", err)
		kill()
	}
	code = rule.Run(running, container)
	message := container.Message
	if message == "" && code != 0 && spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		message = log.last(messageLines)
	}
	p.update(ctx, spec.Name, func(own *corev1.ContainerStatus) {
		own.State = corev1.ContainerState{Terminated: ended(code, began, message)}
		ready(false)(own)
	})
	return code
}

// messageLines is the number of log lines that a container's status gets if its policy asks for them (kubernetes
// pkg/kubelet/container/runtime.go).
const messageLines = 80

// pull takes the time of the image's pull, once per image and machine.
func (p *pod) pull(ctx context.Context, image string, rule programs.Rule) error {
	if _, there := p.session.images.Load(image); there {
		return nil
	}
	if err := p.session.machine.Clock().Sleep(ctx, rule.Pull.Duration); err != nil {
		return err
	}
	p.session.images.Store(image, true)
	return nil
}

// startErrorCode is the exit code of a container that was created but not started. The runtime's hooks run between
// these steps. Such a failure counts as a run (containerd internal/cri/server/container_start.go).
const startErrorCode = 128

// create makes a container, as the kubelet and the runtime do together.
func (p *pod) create(ctx context.Context, spec *corev1.Container, rule programs.Rule) (*programs.Container, error) {
	machine, allocation := p.session.machine, p.allocations[spec.Name]
	env := map[string]string{}
	// The order of precedence is the pod, the device plugin, the image (kubernetes v1.36 pkg/kubelet/kubelet_pods.go,
	// GenerateRunContainerOptions). So NVIDIA_VISIBLE_DEVICES in a pod overrides the allocated devices.
	for _, variable := range rule.Env {
		env[variable.Name] = variable.Value
	}
	if len(allocation.Devices) > 0 && !allocation.ByCDI {
		env["NVIDIA_VISIBLE_DEVICES"] = strings.Join(allocation.Devices, ",")
	}
	for _, variable := range spec.Env {
		if variable.ValueFrom == nil {
			env[variable.Name] = variable.Value
		}
	}
	if err := p.readOnly(spec); err != nil {
		return nil, err
	}
	injected, err := toolkit.Inject(gpu.Cards(machine), machine.Snapshot(), toolkit.Request{
		Handler:    p.handler,
		Visible:    env["NVIDIA_VISIBLE_DEVICES"],
		Allocation: allocation,
	})
	if err != nil {
		return nil, err
	}
	if toolkit.Manages(machine.RootFS(), p.Pod, spec.Name) {
		injected = toolkit.Injection{GPUs: gpu.Cards(machine), Libraries: true}
	}
	return &programs.Container{
		Pod:          p.Pod,
		Spec:         spec,
		Machine:      machine,
		Argv:         rule.CommandOf(spec),
		Env:          env,
		GPUs:         injected.GPUs,
		Libraries:    injected.Libraries,
		SharedMemory: sharedMemory(&p.Pod.Spec, spec),
		Root:         machine.RootFS(),
		Devices:      p.session.devices,
		Client:       p.session.client,
		Read:         func(path string) ([]byte, error) { return p.read(ctx, spec, path) },
	}, nil
}

// sharedMemory returns the size of a container's /dev/shm: the size of the volume at that path, or containerd's default
// of 64 MiB.
func sharedMemory(pod *corev1.PodSpec, container *corev1.Container) int64 {
	for _, mount := range container.VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.MountPath == "/dev/shm" && volume.Name == mount.Name && volume.EmptyDir != nil {
				if volume.EmptyDir.SizeLimit == nil {
					return math.MaxInt64
				}
				return volume.EmptyDir.SizeLimit.Value()
			}
		}
	}
	return 64 << 20
}

// unmade matches folders that Talos lacks. containerd cannot make them for a pod that mounts them, because Talos' root
// file system is read-only.
var unmade = regexp.MustCompile(`^/(usr/local/nvidia|etc/containerd)(/|$)`)

// readOnly returns containerd's error for a container that mounts a folder of unmade (gpu-operator#2382).
func (p *pod) readOnly(container *corev1.Container) error {
	for _, volume := range p.Spec.Volumes {
		mounted := slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.Name == volume.Name })
		if path := volume.HostPath; mounted && path != nil && unmade.MatchString(path.Path) {
			return fmt.Errorf("failed to generate container %q spec: failed to apply OCI options: failed to mkdir %q: mkdir %s: read-only file system", host.Identifier(string(p.UID), container.Name), path.Path, path.Path)
		}
	}
	return nil
}

// read returns a file of a ConfigMap that the container mounts, with the kubelet's rights. An init container may also
// have copied the file, so the mounts of init containers count. If path is a folder with one file, read returns this
// file.
func (p *pod) read(ctx context.Context, container *corev1.Container, path string) ([]byte, error) {
	mounts := slices.Clone(container.VolumeMounts)
	for _, other := range p.Spec.InitContainers {
		mounts = append(mounts, other.VolumeMounts...)
	}
	for _, mount := range mounts {
		key, inside := strings.CutPrefix(filepath.Clean(path), filepath.Clean(mount.MountPath))
		at := slices.IndexFunc(p.Spec.Volumes, func(volume corev1.Volume) bool { return volume.Name == mount.Name && volume.ConfigMap != nil })
		if !inside || at < 0 {
			continue
		}
		object, err := p.configMap(ctx, p.Spec.Volumes[at].ConfigMap.Name)
		if err != nil {
			return nil, err
		}
		key = cmp.Or(mount.SubPath, strings.TrimPrefix(key, "/"))
		for name, text := range object.Data {
			if name == key || key == "" && len(object.Data) == 1 {
				return []byte(text), nil
			}
		}
	}
	return nil, fmt.Errorf("open %s: no such file or directory", path)
}

// mounted is a ConfigMap as a volume shows it.
type mounted struct {
	*corev1.ConfigMap
	at float64 // when it was read, in seconds of lab time
}

// remount is the maximum age of a volume's content: the kubelet syncs volumes once a minute (kubernetes
// pkg/kubelet/apis/config/v1beta1/defaults.go, SyncFrequency).
const remount = time.Minute

func (p *pod) configMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	now := p.session.machine.Clock().Now()
	if known, there := p.mounted[name]; there && now-known.at < remount.Seconds() {
		return known.ConfigMap, nil
	}
	object, err := p.session.client.CoreV1().ConfigMaps(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if p.mounted == nil {
		p.mounted = map[string]mounted{}
	}
	p.mounted[name] = mounted{object, now}
	return object, nil
}

// postStart returns the error of a container's postStart hook. With the nvidia runtime up to Talos 1.12,
// nvidia-container-cli of the exec dies in the glibc loader (siderolabs/extensions#940). Other hooks succeed.
func (p *pod) postStart(spec *corev1.Container) error {
	hooked := spec.Lifecycle != nil && spec.Lifecycle.PostStart != nil && spec.Lifecycle.PostStart.Exec != nil
	if !hooked || p.handler != toolkit.Handler || p.session.machine.Snapshot().Injection != host.InjectionLegacy {
		return nil
	}
	return errors.New("PostStartHookError: rpc error: code = Unknown desc = failed to exec in container: failed to start exec: OCI runtime exec failed: " +
		"exec failed: unable to start container process: nvidia-container-cli: initialization error: init 250 result=11: unknown")
}

// ended returns the state of a container that has exited.
func ended(code int, began metav1.Time, message string) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{
		ExitCode:   int32(code),
		Reason:     reason,
		StartedAt:  began,
		FinishedAt: metav1.Now(),
		Message:    message,
	}
}
