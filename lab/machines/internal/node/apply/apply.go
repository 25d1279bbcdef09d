// Package apply emulates Talos' NodeApplyController. The controller sets the labels, annotations and taints that Talos
// wants on a node, and leaves what other clients set (talos v1.13.9
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

// controller applies the wanted state of one machine's node. One update carries all labels, annotations and taints, so
// one forbidden key rejects them all (talos#8193).
type controller struct {
	machine host.Machine
	loop    host.Loop
	said    map[string]bool // what was already reported; a retry does not report it again
	owned   map[string]bool // what it set on the node: it changes nothing else. Talos keeps this in annotations
}

// requestLimit is the emulation's limit for one round, in real time instead of lab time.
const requestLimit = 10 * time.Second

// Keep applies what a machine's configuration wants on its node, until ctx ends.
func Keep(ctx context.Context, authority *identity.Authority, machine host.Machine) error {
	c := newController(machine)
	return c.loop.EachBoot(ctx, machine, func() (func(context.Context), error) {
		client, err := authority.Talos(machine) // a boot can change the node's name and so the client's rights
		return func(ctx context.Context) { c.run(ctx, client) }, err
	})
}

func newController(machine host.Machine) *controller {
	return &controller{
		machine: machine,
		loop:    host.NewLoop(),
		said:    map[string]bool{},
		owned:   map[string]bool{},
	}
}

// run applies the wanted state after every change, until ctx ends. client has the rights that Talos has on the machine.
func (c *controller) run(ctx context.Context, client kubernetes.Interface) {
	c.followNode(ctx, client)
	c.loop.Run(ctx, c.machine.Clock(), func() error { return c.once(ctx, client) }, c.report)
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

// followNode wakes the controller when the node changes.
func (c *controller) followNode(ctx context.Context, client kubernetes.Interface) {
	itself := informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", c.machine.Name()).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, itself)
	_, _ = factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.loop.Changed() },
		UpdateFunc: func(before, after any) {
			was, is := before.(*corev1.Node), after.(*corev1.Node)
			isSame := maps.Equal(was.Labels, is.Labels) &&
				maps.Equal(was.Annotations, is.Annotations) &&
				reflect.DeepEqual(was.Spec, is.Spec)
			if !isSame {
				c.loop.Changed()
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

// take changes the node to what Talos wants, and returns the keys that it left because another client set another
// value. It takes over keys that are absent or equal. It changes only keys that Talos owns. It removes keys that Talos
// owns but no longer wants.
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

// said returns a node's labels, annotations and taints, in the format of NodeWants in host.Snapshot.
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
