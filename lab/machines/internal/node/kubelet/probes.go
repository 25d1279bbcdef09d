package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/logs"
)

// fastest bounds how often a probe runs, in this computer's time.
const fastest = 100 * time.Millisecond

// settled bounds it once it has succeeded: nothing waits for it to succeed once more, and a script of a container starts some processes
// each time.
const settled = time.Second

// watch runs a container's postStart hook and then its probes, kills it when they say so, and is done when the container is.
func (w *worker) watch(ctx context.Context, kill context.CancelFunc, c *cri.Container) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.postStart(ctx, c); err != nil {
			w.event(corev1.EventTypeWarning, "FailedPostStartHook", "%v", err)
			w.event(corev1.EventTypeNormal, "Killing", "FailedPostStartHook")
			c.Logf("lab: %v", err)
			kill()
			return
		}
		if c.Spec.StartupProbe != nil && !w.startup(ctx, kill, c) {
			return
		}
		live := make(chan struct{})
		go func() {
			defer close(live)
			w.liveness(ctx, kill, c)
		}()
		w.readiness(ctx, c)
		<-live
	}()
	return done
}

func (w *worker) startup(ctx context.Context, kill context.CancelFunc, c *cri.Container) bool {
	passed := false
	w.probe(ctx, c, c.Spec.StartupProbe, "Startup", func(ok bool) bool {
		if passed = ok; !ok {
			w.event(corev1.EventTypeNormal, "Killing", "Container %s failed startup probe, will be restarted", c.Spec.Name)
			kill()
		}
		return false
	})
	if passed {
		w.state.update(c.Spec.Name, func(own *containerState) { own.started = true })
	}
	return passed
}

func (w *worker) liveness(ctx context.Context, kill context.CancelFunc, c *cri.Container) {
	if c.Spec.LivenessProbe == nil {
		return
	}
	w.probe(ctx, c, c.Spec.LivenessProbe, "Liveness", func(ok bool) bool {
		if !ok {
			w.event(corev1.EventTypeNormal, "Killing", "%s", whyKilled(w.pod, c))
			kill()
		}
		return ok
	})
}

// whyKilled: a pod whose last container dies for good is killed as a whole (kubernetes pkg/kubelet/kuberuntime, computePodActions).
func whyKilled(pod *corev1.Pod, c *cri.Container) string {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever && len(pod.Spec.Containers) == 1 {
		return "Stopping container " + c.Spec.Name
	}
	return fmt.Sprintf("Container %s failed liveness probe, will be restarted", c.Spec.Name)
}

func (w *worker) readiness(ctx context.Context, c *cri.Container) {
	set := func(ready bool) {
		w.state.update(c.Spec.Name, func(own *containerState) { own.ready = ready && own.state.Running != nil })
		w.publish(ctx)
	}
	if c.Spec.ReadinessProbe == nil {
		set(true)
		return
	}
	set(false)
	w.probe(ctx, c, c.Spec.ReadinessProbe, "Readiness", func(ok bool) bool {
		if ctx.Err() == nil {
			set(ok)
		}
		return true
	})
}

// probe tries with the probe's period and tells each time a threshold is reached, until told to stop (false) or ctx ends
// (kubernetes pkg/kubelet/prober/worker.go).
func (w *worker) probe(ctx context.Context, c *cri.Container, probe *corev1.Probe, kind string, reached func(ok bool) bool) {
	clock := w.session.machine.Clock()
	if clock.Sleep(ctx, time.Duration(probe.InitialDelaySeconds)*time.Second) != nil {
		return
	}
	period := clock.Real(seconds(probe.PeriodSeconds, 10))
	row, last, told := int32(0), false, false
	for first := true; ; first = false {
		err := w.try(ctx, c, probe)
		if ctx.Err() != nil {
			return
		}
		if ok := err == nil; first || ok != last {
			row, last, told = 1, ok, false
		} else {
			row++
		}
		if !last {
			w.event(corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %v", kind, err)
		}
		threshold := max(probe.SuccessThreshold, 1)
		if !last {
			threshold = max(probe.FailureThreshold, 1)
		}
		if row >= threshold && !told {
			told = true
			if !reached(last) {
				return
			}
		}
		pause := fastest
		if told && last {
			pause = settled
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(pause, period)):
		}
	}
}

func seconds(value int32, otherwise int) time.Duration {
	if value == 0 {
		return time.Duration(otherwise) * time.Second
	}
	return time.Duration(value) * time.Second
}

// try probes once. A network probe of a container whose image is not emulated has nothing to reach, and succeeds.
func (w *worker) try(ctx context.Context, c *cri.Container, probe *corev1.Probe) error {
	limit := max(2*time.Second, w.session.machine.Clock().Real(seconds(probe.TimeoutSeconds, 1)))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch {
	case probe.Exec != nil:
		if !c.CanRun(probe.Exec.Command) {
			return nil
		}
		log := logs.NewTail(messageLimit)
		if code := c.Run(ctx, probe.Exec.Command, log); code != 0 {
			return errors.New(log.All()) // what it says, and no more (kubernetes pkg/probe/exec)
		}
		return nil
	case probe.HTTPGet != nil:
		address, err := c.Endpoint(probe.HTTPGet.Port.String())
		if address == "" {
			return err
		}
		return get(ctx, "http://"+address+"/"+trimSlash(probe.HTTPGet.Path))
	case probe.TCPSocket != nil:
		address, err := c.Endpoint(probe.TCPSocket.Port.String())
		if address == "" {
			return err
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	return nil // gRPC probes are not emulated
}

func trimSlash(path string) string {
	if len(path) > 0 && path[0] == '/' {
		return path[1:]
	}
	return path
}

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest || response.StatusCode < http.StatusOK {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}
