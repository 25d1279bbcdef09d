// Package apply is Talos' part in a machine's Node: it puts the labels, annotations and taints of the machine's configuration
// there, and takes back those that it put there before.
package apply

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
	"talos-gpu/lab/machines/internal/node/identity"
)

// Controller is Talos' NodeApplyController: whenever the machine's configuration or the node changed, one update for all
// labels, annotations and taints, so one forbidden key rejects them all (talos#8193; talos v1.13.9
// internal/app/machined/pkg/controllers/k8s/node_apply.go).
type Controller struct {
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

// requestLimit is the emulation's own bound of a round, in this computer's time.
const requestLimit = 10 * time.Second

// New controller for a machine: client has its node's own rights, elevated those that Talos has there.
func New(machine host.Machine, client, elevated kubernetes.Interface) *Controller {
	return &Controller{machine: machine, client: client, elevated: elevated, wake: make(chan struct{}, 1), said: map[string]bool{}}
}

// Keep does for a node that a real kubelet registers what Talos does beside it: labels, annotations and taints, until ctx ends.
func Keep(ctx context.Context, authority *identity.Authority, machine host.Machine) error {
	client, elevated, err := authority.Clients(machine)
	if err != nil {
		return err
	}
	controller := New(machine, client, elevated)
	go func() {
		for range machine.Watch(ctx) {
			controller.Changed()
		}
	}()
	controller.Run(ctx)
	return nil
}

func (a *Controller) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "kubelet %s: %s\n", a.machine.Name(), fmt.Sprintf(format, args...))
}

// Changed says that the machine or the node changed.
func (a *Controller) Changed() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run keeps the node as the machine's configuration wants it until ctx ends.
func (a *Controller) Run(ctx context.Context) {
	a.followNode(ctx)
	for delay := firstRestart; ; {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		err := a.once(ctx)
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
		a.Changed()
	}
}

func (a *Controller) report(err error) {
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
func (a *Controller) followNode(ctx context.Context) {
	itself := informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", a.machine.Name()).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(a.client, 0, itself)
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { a.Changed() },
		UpdateFunc: func(before, after any) {
			if differ(before.(*corev1.Node), after.(*corev1.Node)) {
				a.Changed()
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

func (a *Controller) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	machine, nodes := a.machine, a.elevated.CoreV1().Nodes()
	node, err := nodes.Get(ctx, machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	before, spec := node.DeepCopy(), nodeSpecOf(machine.Role(), machine.Snapshot())
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
