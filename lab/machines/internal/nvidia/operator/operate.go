package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// operate is the gpu-operator binary: it reconciles the cluster's one ClusterPolicy with nodes and operands. The
// policy's status, which nobody here reads, it leaves alone.
func (o *Operator) operate(ctx context.Context, c *programs.Container) int {
	version := programs.TagOf(c.Spec.Image)
	if version == "v26.3.0" && c.Machine.Snapshot().TalosVersion != "" {
		// gpu-operator#2239: VERSION_ID of Talos begins with v.
		c.Logf(`panic: failed to parse OS version: strconv.Atoi: parsing "v1": invalid syntax`)
		return 2
	}
	if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
		return programs.ExitTerminated
	}
	run, wake := &reconciler{Operator: o, container: c}, make(chan struct{}, 1)
	if err := run.watch(ctx, wake); err != nil {
		return c.Fails("%v", err)
	}
	c.Logf("starting manager version=%s", version)
	go c.Serves(ctx, 8081, programs.Well) // --health-probe-bind-address
	for {
		select {
		case <-ctx.Done():
			return programs.ExitTerminated
		case <-wake:
		}
		time.Sleep(100 * time.Millisecond) // changes that come together are one
		if err := run.reconcile(ctx); err != nil && ctx.Err() == nil {
			c.Logf("Reconciler error: %v", err)
			if c.Machine.Clock().Sleep(ctx, 5*time.Second) == nil {
				poke(wake)
			}
		}
	}
}

func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// reconciler is one run of the operator (controllers/clusterpolicy_controller.go), with its caches.
type reconciler struct {
	*Operator
	container *programs.Container
	policies  cache.GenericLister
	nodes     cache.Indexer
	sets      cache.Indexer
}

func (r *reconciler) watch(ctx context.Context, wake chan<- struct{}) error {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke(wake) }, UpdateFunc: func(any, any) { poke(wake) }, DeleteFunc: func(any) { poke(wake) },
	}
	objects := dynamicinformer.NewDynamicSharedInformerFactory(r.dynamic, 0)
	everywhere := informers.NewSharedInformerFactory(r.client, 0)
	own := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithNamespace(r.container.Pod.Namespace))
	found, nodes, sets := objects.ForResource(policies), everywhere.Core().V1().Nodes().Informer(), own.Apps().V1().DaemonSets().Informer()
	for _, informer := range []cache.SharedIndexInformer{found.Informer(), nodes, sets} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	objects.Start(ctx.Done())
	everywhere.Start(ctx.Done())
	own.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), found.Informer().HasSynced, nodes.HasSynced, sets.HasSynced)
	r.policies, r.nodes, r.sets = found.Lister(), nodes.GetIndexer(), sets.GetIndexer()
	return nil
}

func (r *reconciler) reconcile(ctx context.Context) error {
	objects, err := r.policies.List(labels.Everything())
	if err != nil || len(objects) == 0 {
		return err
	}
	object := objects[0].(*unstructured.Unstructured)
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	spec, err := parsePolicy(object)
	if err != nil {
		return err
	}
	for _, item := range r.nodes.List() {
		node := item.(*corev1.Node)
		if err := nodelabels.Patch(ctx, r.client, node.Name, wantedLabels(node.Labels)); err != nil {
			return fmt.Errorf("labelling node %s: %w", node.Name, err)
		}
	}
	yes := true
	p := policy{spec: spec, namespace: r.container.Pod.Namespace, operatorImage: r.container.Spec.Image,
		owner: metav1.OwnerReference{APIVersion: "nvidia.com/v1", Kind: "ClusterPolicy", Name: object.GetName(), UID: object.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}}
	if err := r.runtimeClass(ctx, p); err != nil {
		return err
	}
	return r.deploy(ctx, p)
}

// labelled are the operands for which a node gets a label (state_manager.go, gpuStateLabels).
var labelled = []string{"driver", "gpu-feature-discovery", "container-toolkit", "device-plugin", "dcgm", "dcgm-exporter", "node-status-exporter", "operator-validator"}

func hasGPU(labels map[string]string) bool {
	return labels[nodelabels.FeaturePCI] == "true" || labels[nodelabels.FeaturePCI3D] == "true" || labels[nodelabels.FeaturePCIVGA] == "true"
}

// wantedLabels are the changes that the operator makes to a node's labels; nil removes one (state_manager.go:
// labelGPUNodes, addGPUStateLabels, removeAllGPUStateLabels). A label is only set when absent or empty, so a user's
// "false" stays. gpu.present without a feature label of NVIDIA's vendor counts as a GPU that is gone.
func wantedLabels(labels map[string]string) map[string]*string {
	present, yes, changes := fmt.Sprint(hasGPU(labels)), "true", map[string]*string{}
	marked := labels[nodelabels.Present] == "true"
	if marked != hasGPU(labels) {
		changes[nodelabels.Present] = &present
	}
	deploys := hasGPU(labels) && labels[nodelabels.DeployAll] != "false"
	for _, operand := range append([]string{"mig-manager"}, labelled...) {
		key := nodelabels.DeployPrefix + operand
		value, set := labels[key]
		switch {
		case deploys && value == "" && (operand != "mig-manager" || hasMIG(labels)):
			changes[key] = &yes
		case !deploys && set && (marked || hasGPU(labels)): // it is one of its nodes
			changes[key] = nil
		}
	}
	return changes
}

func hasMIG(labels map[string]string) bool {
	if capable, set := labels[nodelabels.MIGCapable]; set {
		return capable == "true"
	}
	product := strings.ToLower(labels[nodelabels.Product])
	return strings.Contains(product, "h100") || strings.Contains(product, "a100") || strings.Contains(product, "a30")
}

// deploy creates, updates and deletes the operands.
func (r *reconciler) deploy(ctx context.Context, p policy) error {
	sets := r.client.AppsV1().DaemonSets(p.namespace)
	for _, o := range p.operands() {
		object, found, err := r.sets.GetByKey(p.namespace + "/" + o.name)
		set := p.daemonSet(o)
		encoded, failure := json.Marshal(set.Spec)
		if err = errors.Join(err, failure); err != nil {
			return err
		}
		hash := fmt.Sprintf("%x", sha256.Sum256(encoded))[:16]
		set.Annotations = map[string]string{"nvidia.com/last-applied-hash": hash} // object_controls.go, NvidiaAnnotationHashKey
		current, _ := object.(*appsv1.DaemonSet)
		switch {
		case !o.enabled() && found:
			err = sets.Delete(ctx, o.name, metav1.DeleteOptions{})
		case !o.enabled():
		case current == nil:
			if err = r.companions(ctx, p, o); err == nil {
				_, err = sets.Create(ctx, set, metav1.CreateOptions{})
			}
		case current.Annotations["nvidia.com/last-applied-hash"] != hash:
			set.ResourceVersion = current.ResourceVersion
			_, err = sets.Update(ctx, set, metav1.UpdateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) { // the cache is behind; its event brings the next round
			return fmt.Errorf("state %s: %w", o.name, err)
		}
	}
	return nil
}

// companions are the operand's service account with what it may do, and ConfigMaps.
func (r *reconciler) companions(ctx context.Context, p policy, o operand) error {
	name := p.daemonSet(o).Spec.Template.Spec.ServiceAccountName
	meta := metav1.ObjectMeta{Name: name, Namespace: p.namespace, OwnerReferences: []metav1.OwnerReference{p.owner}}
	core, rbac, options := r.client.CoreV1(), r.client.RbacV1(), metav1.CreateOptions{}
	_, err := core.ServiceAccounts(p.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, options)
	there := func(err error) bool { return err == nil || apierrors.IsAlreadyExists(err) }
	if len(o.rules) > 0 && there(err) {
		if _, err = rbac.Roles(p.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: o.rules}, options); there(err) {
			_, err = rbac.RoleBindings(p.namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: p.namespace}}}, options)
		}
	}
	for file, data := range o.configMaps {
		if there(err) {
			meta.Name = file
			_, err = core.ConfigMaps(p.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: data}, options)
		}
	}
	if there(err) {
		return nil
	}
	return err
}

// runtimeClass creates the operator's RuntimeClass, or takes over one of the same name (object_controls.go, RuntimeClass).
func (r *reconciler) runtimeClass(ctx context.Context, p policy) error {
	classes, name := r.client.NodeV1().RuntimeClasses(), p.spec.Operator.RuntimeClass
	mark := map[string]string{"app.kubernetes.io/component": "gpu-operator"}
	current, err := classes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		meta := metav1.ObjectMeta{Name: name, Labels: mark, OwnerReferences: []metav1.OwnerReference{p.owner}}
		_, err = classes.Create(ctx, &nodev1.RuntimeClass{ObjectMeta: meta, Handler: name}, metav1.CreateOptions{})
		return err
	}
	if err != nil || metav1.GetControllerOf(current) != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": mark, "ownerReferences": append(current.OwnerReferences, p.owner)}})
	if err != nil {
		return err
	}
	_, err = classes.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
