// Package apply is Talos' NodeApplyController: what Talos wants on a node, and how it brings it there without touching what others set (talos v1.13.9
// internal/app/machined/pkg/controllers/k8s/node_apply.go).
package apply

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
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

// controller of one machine. One update brings all labels, annotations and taints, so one forbidden key rejects them all (talos#8193).
type controller struct {
	machine host.Machine
	wake    chan struct{}
	said    map[string]bool // what was reported, which a retry does not report again
	owned   map[string]bool // what it put on the node, which Talos keeps in annotations: it changes and removes nothing else
}

// A failed controller is started again after half a second, then after 1.5 times as long each time, up to a minute
// (cosi-project/runtime pkg/controller/runtime/internal/rruntime/run.go; cenkalti/backoff v4, defaults).
const (
	firstRestart = 500 * time.Millisecond
	lastRestart  = time.Minute
)

// requestLimit is the emulation's own bound of a round, in this computer's time.
const requestLimit = 10 * time.Second

// Keep keeps a machine's node as its configuration wants it, until ctx ends.
func Keep(ctx context.Context, authority *identity.Authority, machine host.Machine) error {
	c := newController(machine)
	return host.EachBoot(ctx, machine, func(host.Snapshot) (changed, stop func(), err error) {
		client, err := authority.Talos(machine) // the node's name is of this boot, and its rights go by it
		if err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.run(ctx, client)
		}()
		return c.changed, func() { cancel(); <-ended }, nil
	})
}

func newController(machine host.Machine) *controller {
	return &controller{
		machine: machine,
		wake:    make(chan struct{}, 1),
		said:    map[string]bool{},
		owned:   map[string]bool{},
	}
}

// changed says that the machine or the node changed.
func (c *controller) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run goes on until ctx ends; client has the rights that Talos has there.
func (c *controller) run(ctx context.Context, client kubernetes.Interface) {
	c.followNode(ctx, client)
	for delay := firstRestart; ; {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		err := c.once(ctx, client)
		if err == nil {
			delay = firstRestart
			continue
		}
		if ctx.Err() == nil {
			c.report(err)
		}
		if c.machine.Clock().Sleep(ctx, delay) != nil {
			return
		}
		delay = min(delay*3/2, lastRestart)
		c.changed()
	}
}

func (c *controller) report(err error) {
	if c.said[err.Error()] {
		return
	}
	c.said[err.Error()] = true
	if apierrors.IsForbidden(err) {
		c.machine.Event("Talos could not label the node: %v", err)
	}
	fmt.Fprintf(os.Stderr, "node %s: applying labels, annotations and taints: %v\n", c.machine.Name(), err)
}

// followNode wakes the controller when the node changed.
func (c *controller) followNode(ctx context.Context, client kubernetes.Interface) {
	itself := informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", c.machine.Name()).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, itself)
	_, _ = factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.changed() },
		UpdateFunc: func(before, after any) {
			was, is := before.(*corev1.Node), after.(*corev1.Node)
			isSame := maps.Equal(was.Labels, is.Labels) &&
				maps.Equal(was.Annotations, is.Annotations) &&
				reflect.DeepEqual(was.Spec, is.Spec)
			if !isSame {
				c.changed()
			}
		},
	})
	factory.Start(ctx.Done())
}

func (c *controller) once(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	nodes := client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, c.machine.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	before, owned := node.DeepCopy(), maps.Clone(c.owned)
	foreign := take(node, c.machine.Snapshot().NodeWants, owned)
	if keys := strings.Join(foreign, ", "); keys != "" && !c.said[keys] {
		c.said[keys] = true
		c.machine.Event("Talos left %s of the node alone: another value is there, and it is not owned", keys)
	}
	if !reflect.DeepEqual(before, node) {
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
	}
	if err == nil {
		c.owned = owned
	}
	return err
}

// take brings the node to what Talos wants of it, and reports what it left alone because another client set another value: it takes over what is
// absent or equal, changes only what Talos owns, and removes what it owns and no longer wants.
func take(node *corev1.Node, wants map[string]string, owned map[string]bool) (foreign []string) {
	now := said(node)
	for _, key := range slices.Sorted(maps.Keys(wants)) {
		old, exists := now[key]
		if exists && old != wants[key] && !owned[key] {
			foreign = append(foreign, key)
			continue
		}
		if owned[key] = true; !exists || old != wants[key] {
			remove(node, key)
			put(node, key, wants[key])
		}
	}
	for key := range owned {
		if _, still := wants[key]; !still {
			remove(node, key)
			delete(owned, key)
		}
	}
	return foreign
}

// said are a node's labels, annotations and taints, as host.Snapshot has what is wanted of them.
func said(node *corev1.Node) map[string]string {
	now := map[string]string{}
	for key, value := range node.Labels {
		now["label "+key] = value
	}
	for key, value := range node.Annotations {
		now["annotation "+key] = value
	}
	for _, taint := range node.Spec.Taints {
		now["taint "+taint.Key] = taint.Value + ":" + string(taint.Effect)
	}
	return now
}

func remove(node *corev1.Node, key string) {
	_, name, _ := strings.Cut(key, " ")
	switch key {
	case "label " + name:
		delete(node.Labels, name)
	case "annotation " + name:
		delete(node.Annotations, name)
	default:
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == name })
	}
}

func put(node *corev1.Node, key, value string) {
	_, name, _ := strings.Cut(key, " ")
	switch key {
	case "label " + name:
		metav1.SetMetaDataLabel(&node.ObjectMeta, name, value)
	case "annotation " + name:
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, name, value)
	default:
		value, effect, _ := strings.Cut(value, ":")
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key:    name,
			Value:  value,
			Effect: corev1.TaintEffect(effect),
		})
	}
}
