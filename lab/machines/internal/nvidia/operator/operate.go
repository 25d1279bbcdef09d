package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// settle joins changes that come together into one reconciliation, in this computer's time.
const settle = 100 * time.Millisecond

// operate is the gpu-operator binary: it reconciles the cluster's one ClusterPolicy with nodes and operands.
func (o *Operator) operate(ctx context.Context, c *programs.Container) int {
	version := programs.TagOf(c.Spec.Image)
	if version == "v26.3.0" && c.Machine.Snapshot().TalosVersion != "" {
		// gpu-operator#2239: VERSION_ID of Talos begins with v.
		c.Logf(`panic: failed to parse OS version: strconv.Atoi: parsing "v1": invalid syntax`)
		return 2
	}
	if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
		return 143
	}
	wake := make(chan struct{}, 1)
	watch, err := o.watch(ctx, c.Pod.Namespace, wake)
	if err != nil {
		c.Logf("%v", err)
		return 1
	}
	c.Logf("starting manager version=%s", version)
	go c.Serves(ctx, healthPort, programs.Well)
	run := &reconciler{operator: o, container: c, watch: watch, states: map[string]string{}}
	for {
		select {
		case <-ctx.Done():
			return 143
		case <-wake:
		}
		select {
		case <-ctx.Done():
			return 143
		case <-time.After(settle):
		}
		if err := run.reconcile(ctx); err != nil && ctx.Err() == nil {
			c.Logf("Reconciler error: %v", err)
			if c.Machine.Clock().Sleep(ctx, 5*time.Second) == nil {
				poke(wake)
			}
		}
	}
}

// healthPort is the manager's --health-probe-bind-address.
const healthPort = 8081

func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// watched are the operator's caches.
type watched struct {
	policies cache.GenericLister
	nodes    cache.Indexer
	sets     cache.Indexer
}

func (o *Operator) watch(ctx context.Context, namespace string, wake chan<- struct{}) (*watched, error) {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke(wake) }, UpdateFunc: func(any, any) { poke(wake) }, DeleteFunc: func(any) { poke(wake) },
	}
	dynamicFactory := dynamicinformer.NewDynamicSharedInformerFactory(o.dynamic, 0)
	everywhere := informers.NewSharedInformerFactory(o.client, 0)
	own := informers.NewSharedInformerFactoryWithOptions(o.client, 0, informers.WithNamespace(namespace))
	policyInformer := dynamicFactory.ForResource(policies)
	nodes, sets := everywhere.Core().V1().Nodes().Informer(), own.Apps().V1().DaemonSets().Informer()
	for _, informer := range []cache.SharedIndexInformer{policyInformer.Informer(), nodes, sets} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	dynamicFactory.Start(ctx.Done())
	everywhere.Start(ctx.Done())
	own.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), policyInformer.Informer().HasSynced, nodes.HasSynced, sets.HasSynced) {
		return nil, fmt.Errorf("the operator was stopped before it had read the cluster")
	}
	return &watched{policies: policyInformer.Lister(), nodes: nodes.GetIndexer(), sets: sets.GetIndexer()}, nil
}

// reconciler is one run of the operator (controllers/clusterpolicy_controller.go).
type reconciler struct {
	operator  *Operator
	container *programs.Container
	watch     *watched
	states    map[string]string // operand to what was logged last
}

func (r *reconciler) reconcile(ctx context.Context) error {
	objects, err := r.watch.policies.List(labels.Everything())
	if err != nil || len(objects) == 0 {
		return err
	}
	object := objects[0].(*unstructured.Unstructured)
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	spec, err := parsePolicy(object)
	if err != nil {
		return r.report(ctx, object, "notReady", "ReconcileFailed", err.Error())
	}
	gpus, nfd, err := r.labelNodes(ctx)
	if err != nil {
		return err
	}
	yes := true
	p := policy{spec: spec, namespace: r.container.Pod.Namespace, operatorImage: r.container.Spec.Image,
		talos: r.container.Machine.Snapshot().TalosVersion,
		owner: metav1.OwnerReference{APIVersion: "nvidia.com/v1", Kind: "ClusterPolicy", Name: object.GetName(), UID: object.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}}
	if err := r.runtimeClass(ctx, p); err != nil {
		return err
	}
	waiting, err := r.operands(ctx, p)
	if err != nil {
		return err
	}
	switch {
	case len(waiting) > 0:
		return r.report(ctx, object, "notReady", "OperandNotReady", "ClusterPolicy is not ready, states not ready: ["+strings.Join(waiting, " ")+"]")
	case !nfd:
		return r.report(ctx, object, "ready", "NFDLabelsMissing", "No NFD labels found")
	case !gpus:
		return r.report(ctx, object, "ready", "NoGPUNodes", "No GPU node found, watching for new nodes to join the cluster.")
	}
	return r.report(ctx, object, "ready", "Reconciled", "ClusterPolicy is ready as all resources have been successfully reconciled")
}

// labelNodes says whether there are GPU nodes, and whether NFD labelled any.
func (r *reconciler) labelNodes(ctx context.Context) (gpus, nfd bool, err error) {
	for _, object := range r.watch.nodes.List() {
		node := object.(*corev1.Node)
		nfd = nfd || hasFeatures(node)
		changes := wantedLabels(node.Labels)
		if err := nodelabels.Patch(ctx, r.operator.client, node.Name, changes); err != nil {
			return false, false, fmt.Errorf("labelling node %s: %w", node.Name, err)
		}
		value, changed := changes[nodelabels.Present]
		gpus = gpus || node.Labels[nodelabels.Present] == "true" && !changed || changed && value != nil && *value == "true"
	}
	return gpus, nfd, nil
}

// operands creates, updates and deletes the DaemonSets, and tells which are not ready.
func (r *reconciler) operands(ctx context.Context, p policy) (waiting []string, err error) {
	wanted, unwanted := p.all()
	for _, o := range wanted {
		set, err := r.apply(ctx, p, o)
		if err != nil {
			return nil, fmt.Errorf("state %s: %w", o.name, err)
		}
		state := "ready"
		if !isReady(set) {
			state = "notReady"
			waiting = append(waiting, o.stateName())
		}
		if r.states[o.name] != state {
			r.states[o.name] = state
			r.container.Logf("ClusterPolicy step completed state=%s status=%s", o.stateName(), state)
		}
	}
	for _, name := range unwanted {
		if _, found, _ := r.watch.sets.GetByKey(p.namespace + "/" + name); !found {
			continue
		}
		err := r.operator.client.AppsV1().DaemonSets(p.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return waiting, nil
}

// isReady follows isDaemonSetReady (object_controls.go): nothing desired is ready.
func isReady(set *appsv1.DaemonSet) bool {
	if set == nil || set.Status.ObservedGeneration < set.Generation {
		return false
	}
	desired := set.Status.DesiredNumberScheduled
	return desired == 0 || set.Status.NumberAvailable == desired && set.Status.UpdatedNumberScheduled == desired
}
