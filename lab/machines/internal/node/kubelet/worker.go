package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
)

// worker runs one pod of the node from its binding to its end (kubernetes pkg/kubelet/pod_workers.go).
type worker struct {
	session *session
	mutex   sync.Mutex
	pod     *corev1.Pod // as it was when the kubelet first saw it: what it shall run does not change
	current *corev1.Pod // as the API server has it now
	state   *podState
	folder  string
	handler string
	podIP   string
	// allocations of the device plugins, by container.
	allocations map[string]devices.Allocation
	// running containers by name, for hooks and probes.
	running map[string]*cri.Container
	// deleted is closed when the API server wants the pod gone; cancel ends a pod that is gone already.
	deleted     chan struct{}
	deletedOnce sync.Once
	cancel      context.CancelFunc

	publishing       sync.Mutex
	published        *corev1.PodStatus
	publishedAddress string
}

func newWorker(s *session, pod *corev1.Pod) *worker {
	w := &worker{
		session: s, pod: pod, current: pod, state: newPodState(pod), deleted: make(chan struct{}),
		folder:  filepath.Join(s.machine.RootFS(), "var/lib/kubelet/pods", string(pod.UID)),
		running: map[string]*cri.Container{},
	}
	w.state.recall(pod.Status)
	return w
}

func (w *worker) name() string { return w.pod.Namespace + "/" + w.pod.Name }

func (w *worker) latest() *corev1.Pod {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.current
}

// updated takes the pod as the API server has it now.
func (w *worker) updated(pod *corev1.Pod) {
	w.mutex.Lock()
	w.current = pod
	w.mutex.Unlock()
	if pod.DeletionTimestamp != nil {
		w.deletedOnce.Do(func() { close(w.deleted) })
	}
}

// run runs the pod until it is gone, or the kubelet stops.
func (w *worker) run(ctx context.Context) {
	pod := w.latest()
	if pod.DeletionTimestamp != nil {
		w.deletedOnce.Do(func() { close(w.deleted) })
	}
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		w.live(ctx)
	}
	select {
	case <-ctx.Done():
		return
	case <-w.deleted:
	}
	w.session.devices.Free(string(pod.UID))
	_ = os.RemoveAll(w.folder)
	w.session.until("removing pod "+w.name(), func() error { return w.remove(ctx) })
}

// remove takes the pod, and no successor of its name, from the API server.
func (w *worker) remove(ctx context.Context) error {
	none := int64(0)
	err := w.session.client.CoreV1().Pods(w.pod.Namespace).Delete(ctx, w.pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &none, Preconditions: metav1.NewUIDPreconditions(string(w.pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
		return nil // it is gone, by whomever
	}
	return err
}

// live takes the pod through admission, sandbox, init containers and containers.
func (w *worker) live(ctx context.Context) {
	containers, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-w.deleted:
			w.terminate(ctx)
			stop()
		case <-ended:
		}
	}()
	if w.isDeleted() {
		w.finish(ctx)
		return
	}
	allocations, err := w.session.devices.Admit(w.pod)
	if err != nil {
		w.event(corev1.EventTypeWarning, "UnexpectedAdmissionError", "Allocate failed due to %v, which is unexpected", err)
		w.state.change(func(s *podState) {
			s.rejected, s.message = "UnexpectedAdmissionError", fmt.Sprintf("Pod was rejected: Allocate failed due to %v, which is unexpected", err)
		})
		w.publish(ctx)
		return
	}
	w.allocations = allocations
	w.state.change(func(s *podState) {
		if s.started == nil {
			now := metav1.Now()
			s.started = &now
		}
	})
	w.publish(ctx)
	folders, ok := w.prepare(containers)
	if ok && w.initialize(containers, folders) {
		w.main(containers, folders)
	}
	w.finish(ctx)
}

func (w *worker) isDeleted() bool {
	select {
	case <-w.deleted:
		return true
	default:
		return false
	}
}

// finish states that no container runs any more, and how those ended that never ran.
func (w *worker) finish(ctx context.Context) {
	if w.session.ctx.Err() != nil {
		return // the machine goes down: nobody is left to say anything
	}
	deleted := w.isDeleted()
	w.state.change(func(s *podState) {
		s.finished = true
		for _, own := range s.containers {
			own.ready = false
			if deleted && own.state.Terminated == nil {
				own.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: cri.ExitKilled, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated"}}
			}
		}
	})
	w.session.devices.Free(string(w.pod.UID))
	w.publish(ctx)
}

// prepare mounts the volumes and makes the sandbox, and goes on trying.
func (w *worker) prepare(ctx context.Context) (map[string]string, bool) {
	var folders map[string]string
	mounted := w.retry(ctx, "FailedMount", "", func() (err error) {
		folders, err = w.volumes().Folders(ctx)
		return err
	})
	sandboxed := mounted && w.retry(ctx, "FailedCreatePodSandBox", "Failed to create pod sandbox: ", func() error { return w.sandbox(ctx) })
	if !sandboxed {
		return nil, false
	}
	w.state.change(func(s *podState) {
		s.sandbox, s.podIP = true, w.podIP
		s.initDone = len(w.pod.Spec.InitContainers) == 0
	})
	w.publish(ctx)
	return folders, true
}

// retry tries until it works or ctx ends, with an event for each failure: at once, then after 2 s, 4 s, up to a minute.
func (w *worker) retry(ctx context.Context, reason, prefix string, try func() error) bool {
	for wait := 2 * time.Second; ; wait = min(2*wait, time.Minute) {
		err := try()
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		w.event(corev1.EventTypeWarning, reason, "%s%v", prefix, err)
		if w.session.machine.Clock().Sleep(ctx, wait) != nil {
			return false
		}
	}
}
