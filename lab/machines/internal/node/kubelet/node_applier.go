package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"talos-gpu/lab/machines/internal/host"
)

// nodeApplier is Talos' NodeApplyController: whenever the machine's configuration or the node changed, one update for all
// labels, annotations and taints, so one forbidden key rejects them all (talos#8193; talos v1.13.9
// internal/app/machined/pkg/controllers/k8s/node_apply.go).
type nodeApplier struct {
	machine  host.Machine
	client   kubernetes.Interface // the node's own rights
	elevated kubernetes.Interface // Talos' rights on control planes; else the node's own
	wake     chan struct{}
	said     map[string]bool // what was reported, which a retry does not report again
}

// A controller that failed is started again, first after half a second, then after 1.5 times as long each time, up to a
// minute (cosi-project/runtime pkg/controller/runtime/internal/rruntime/run.go; cenkalti/backoff v4, defaults).
const (
	firstRestart = 500 * time.Millisecond
	lastRestart  = time.Minute
)

// Conflicts, and what the API server forbids, are tried again for 10 seconds before the controller fails (node_apply.go, sync).
const (
	syncLimit = 10 * time.Second
	syncPause = 100 * time.Millisecond
	// The emulation's own bounds, in this computer's time: of a request, and of how fast it asks again.
	requestLimit = 10 * time.Second
	leastPause   = 20 * time.Millisecond
)

func newNodeApplier(machine host.Machine, client, elevated kubernetes.Interface) *nodeApplier {
	return &nodeApplier{machine: machine, client: client, elevated: elevated, wake: make(chan struct{}, 1), said: map[string]bool{}}
}

// KeepNode does for a node that a real kubelet registers what Talos does beside it: labels, annotations and taints, until ctx ends.
func KeepNode(ctx context.Context, authority *Authority, machine host.Machine) error {
	client, elevated, err := authority.clients(machine)
	if err != nil {
		return err
	}
	applier := newNodeApplier(machine, client, elevated)
	go func() {
		for range machine.Watch(ctx) {
			applier.changed()
		}
	}()
	applier.run(ctx)
	return nil
}

func (a *nodeApplier) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "kubelet %s: %s\n", a.machine.Name(), fmt.Sprintf(format, args...))
}

func (a *nodeApplier) changed() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *nodeApplier) run(ctx context.Context) {
	a.followNode(ctx)
	for delay := firstRestart; ; {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		err := a.sync(ctx)
		if err == nil {
			delay = firstRestart
			continue
		}
		if ctx.Err() == nil {
			a.report(err)
		}
		if a.machine.Clock().Sleep(ctx, delay) != nil {
			return
		}
		delay = min(delay*3/2, lastRestart)
		a.changed()
	}
}

func (a *nodeApplier) report(err error) {
	if a.said[err.Error()] {
		return
	}
	a.said[err.Error()] = true
	if apierrors.IsForbidden(err) {
		a.machine.Event("Talos could not label the node: %v", err)
	}
	a.logf("applying labels, annotations and taints to the node: %v", err)
}

// followNode wakes the controller when the node changed in what Talos keeps of it (pkg/machinery/resources/k8s/node_status.go).
func (a *nodeApplier) followNode(ctx context.Context) {
	itself := informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", a.machine.Name()).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(a.client, 0, itself)
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { a.changed() },
		UpdateFunc: func(before, after any) {
			if differ(before.(*corev1.Node), after.(*corev1.Node)) {
				a.changed()
			}
		},
	})
	if err != nil {
		a.logf("following the node: %v", err)
	}
	factory.Start(ctx.Done())
}

func differ(before, after *corev1.Node) bool {
	return !maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		before.Spec.Unschedulable != after.Spec.Unschedulable || isNodeReady(before) != isNodeReady(after)
}

func isNodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (a *nodeApplier) sync(ctx context.Context) error {
	machine := a.machine
	spec, err := nodeSpecOf(machine.Role(), machine.Snapshot())
	if err != nil {
		return err
	}
	clock := machine.Clock()
	for began := clock.Now(); ; {
		err := a.once(ctx, spec)
		if err == nil || !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) || clock.Now()-began > syncLimit.Seconds() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(leastPause, clock.Real(syncPause))):
		}
	}
}

func (a *nodeApplier) once(ctx context.Context, spec nodeSpec) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	machine, nodes := a.machine, a.elevated.CoreV1().Nodes()
	node, err := nodes.Get(ctx, machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	skipped, err := spec.apply(node)
	if err != nil {
		return err
	}
	if keys := strings.Join(skipped, ", "); keys != "" && !a.said[keys] {
		a.said[keys] = true
		machine.Event("Talos left %s of the node alone: another value is there, and it is not owned", keys)
	}
	if reflect.DeepEqual(before.ObjectMeta, node.ObjectMeta) && reflect.DeepEqual(before.Spec, node.Spec) {
		return nil
	}
	_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
	return err
}
