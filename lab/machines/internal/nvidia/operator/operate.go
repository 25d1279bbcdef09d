package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"talos-gpu/lab/machines/internal/node/programs"
)

// operate is the gpu-operator binary (controllers/clusterpolicy_controller.go). It changes nodes and operands to match
// the cluster's ClusterPolicy. It does not write the policy's status, because nothing in the lab reads it.
func (o *Operator) operate(ctx context.Context, c *programs.Container) int {
	c.Logf("starting manager version=%s", programs.TagOf(c.Spec.Image))
	go c.Serves(ctx, 8081, programs.Well) // --health-probe-bind-address
	stirs := stirredBy(ctx, o.dynamic,
		policies,
		corev1.SchemeGroupVersion.WithResource("nodes"),
		appsv1.SchemeGroupVersion.WithResource("daemonsets"),
		nodev1.SchemeGroupVersion.WithResource("runtimeclasses"),
	)
	pause := func() error { return c.Machine.Clock().Sleep(ctx, 5*time.Second) }
	stirs.each(ctx, pause, func() error {
		err := o.reconcile(ctx, c)
		if err != nil && ctx.Err() == nil {
			c.Logf("Reconciler error: %v", err)
		}
		return err
	})
	return programs.ExitTerminated
}

func (o *Operator) reconcile(ctx context.Context, c *programs.Container) error {
	found, err := o.dynamic.Resource(policies).List(ctx, metav1.ListOptions{})
	if err != nil || len(found.Items) == 0 || found.Items[0].GetDeletionTimestamp() != nil {
		return err
	}
	object, yes := found.Items[0], true
	spec, err := parsePolicy(&object)
	if err != nil {
		return err
	}
	nodes, err := o.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if err := setLabels(ctx, o.client, &node, wantedLabels(node.Labels)); err != nil {
			return fmt.Errorf("labelling node %s: %w", node.Name, err)
		}
	}
	p := policy{policySpec: spec, namespace: c.Pod.Namespace, operatorImage: c.Spec.Image,
		owner: metav1.OwnerReference{
			APIVersion:         "nvidia.com/v1",
			Kind:               "ClusterPolicy",
			Name:               object.GetName(),
			UID:                object.GetUID(),
			Controller:         &yes,
			BlockOwnerDeletion: &yes,
		}}
	return errors.Join(o.runtimeClass(ctx, p), o.deploy(ctx, p))
}

// labelled are the operands for which a node gets a label (state_manager.go, gpuStateLabels). It has only the operands
// that the lab emulates.
var labelled = []string{"container-toolkit", "mig-manager", "gpu-feature-discovery", "device-plugin", "dcgm-exporter", "operator-validator"}

// wantedLabels returns the operator's changes of a node's labels; nil removes a label (state_manager.go: labelGPUNodes,
// addGPUStateLabels, removeAllGPUStateLabels). A label is set only if it is absent or empty, so a user's "false" stays.
// If gpu.present is set without a feature label of NVIDIA's vendor, the GPU counts as removed.
func wantedLabels(labels map[string]string) map[string]*string {
	hasGPU := false
	for _, device := range []string{"pci-10de", "pci-0302_10de", "pci-0300_10de"} {
		hasGPU = hasGPU || labels[featurePrefix+device+".present"] == "true"
	}
	says, yes, changes := fmt.Sprint(hasGPU), "true", map[string]*string{}
	marked := labels[present] == "true"
	if marked != hasGPU {
		changes[present] = &says
	}
	deploys := hasGPU && labels[deployPrefix+"operands"] != "false"
	for _, operand := range labelled {
		key := deployPrefix + operand
		value, set := labels[key]
		switch {
		case deploys && value == "" && (operand != "mig-manager" || labels[migCapable] == "true"):
			changes[key] = &yes
		case !deploys && set && (marked || hasGPU): // the operator manages this node
			changes[key] = nil
		}
	}
	return changes
}

// appliedHash is the annotation with the hash of an operand that was applied (object_controls.go,
// NvidiaAnnotationHashKey).
const appliedHash = "nvidia.com/last-applied-hash"

// deploy creates, updates and deletes the operands.
func (o *Operator) deploy(ctx context.Context, p policy) error {
	sets := o.client.AppsV1().DaemonSets(p.namespace)
	there, err := sets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	current := map[string]appsv1.DaemonSet{}
	for _, set := range there.Items {
		current[set.Name] = set
	}
	for _, operand := range p.operands() {
		now, found := current[operand.Name]
		set := p.daemonSet(operand)
		body, err := json.Marshal(set)
		hash := fmt.Sprintf("%x", sha256.Sum256(body))[:16]
		set.Annotations = map[string]string{appliedHash: hash}
		switch {
		case !operand.component.enabled() && found:
			err = sets.Delete(ctx, operand.Name, metav1.DeleteOptions{})
		case !operand.component.enabled():
		case !found:
			if err = o.writeFiles(ctx, p, operand); err == nil {
				_, err = sets.Create(ctx, set, metav1.CreateOptions{})
			}
		case now.Annotations[appliedHash] != hash:
			set.ResourceVersion = now.ResourceVersion
			_, err = sets.Update(ctx, set, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("state %s: %w", operand.Name, err)
		}
	}
	return nil
}

// writeFiles makes the ConfigMaps of an operand.
func (o *Operator) writeFiles(ctx context.Context, p policy, operand operand) error {
	for _, file := range operand.files {
		if file.content == "" {
			continue
		}
		meta := metav1.ObjectMeta{
			Name:            file.configMap,
			Namespace:       p.namespace,
			OwnerReferences: []metav1.OwnerReference{p.owner},
		}
		made := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{file.key: file.content}}
		_, err := o.client.CoreV1().ConfigMaps(p.namespace).Create(ctx, made, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// runtimeClass creates the operator's RuntimeClass, or takes over one of the same name (object_controls.go,
// RuntimeClass). With NRI it deletes this RuntimeClass, regardless of who made it (state_manager.go: the state
// pre-requisites is then disabled).
func (o *Operator) runtimeClass(ctx context.Context, p policy) error {
	classes, name := o.client.NodeV1().RuntimeClasses(), p.Operator.RuntimeClass
	mark := map[string]string{"app.kubernetes.io/component": "gpu-operator"}
	if p.CDI.NRI {
		if err := classes.Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}
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
	if err == nil {
		_, err = classes.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	}
	return err
}
