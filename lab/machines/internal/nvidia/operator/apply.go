package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// appliedHash is where the operator keeps the hash of what it applied (object_controls.go, NvidiaAnnotationHashKey).
const appliedHash = "nvidia.com/last-applied-hash"

// apply brings an operand's DaemonSet to what the policy says. A DaemonSet that was just created is not ready yet.
func (r *reconciler) apply(ctx context.Context, p policy, o operand) (*appsv1.DaemonSet, error) {
	set := p.daemonSet(o)
	encoded, err := json.Marshal(set.Spec)
	if err != nil {
		return nil, err
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(encoded))[:16]
	set.Annotations = map[string]string{appliedHash: hash}
	if object, found, _ := r.watch.sets.GetByKey(p.namespace + "/" + o.name); found {
		current := object.(*appsv1.DaemonSet)
		if current.Annotations[appliedHash] == hash {
			return current, nil
		}
		set.ResourceVersion = current.ResourceVersion
		_, err := r.operator.client.AppsV1().DaemonSets(p.namespace).Update(ctx, set, metav1.UpdateOptions{})
		return nil, err
	}
	if err := r.companions(ctx, p, o); err != nil {
		return nil, err
	}
	_, err = r.operator.client.AppsV1().DaemonSets(p.namespace).Create(ctx, set, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil // the cache is behind; its event brings the next round
	}
	return nil, err
}

// companions are the operand's service account with what it may do, and ConfigMaps.
func (r *reconciler) companions(ctx context.Context, p policy, o operand) error {
	meta := metav1.ObjectMeta{Name: o.accountName(), Namespace: p.namespace, OwnerReferences: []metav1.OwnerReference{p.owner}}
	_, err := r.operator.client.CoreV1().ServiceAccounts(p.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if len(o.rules) > 0 {
		rbac := r.operator.client.RbacV1()
		_, err = rbac.Roles(p.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: o.rules}, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) {
			binding := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: p.namespace}}}
			_, err = rbac.RoleBindings(p.namespace).Create(ctx, binding, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for name, files := range o.configMaps {
		meta.Name = name
		_, err = r.operator.client.CoreV1().ConfigMaps(p.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: files}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// runtimeClass creates the operator's RuntimeClass, or takes over one of the same name (object_controls.go, RuntimeClass).
func (r *reconciler) runtimeClass(ctx context.Context, p policy) error {
	classes := r.operator.client.NodeV1().RuntimeClasses()
	name := p.spec.Operator.RuntimeClass
	current, err := classes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = classes.Create(ctx, &nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/component": "gpu-operator"}, OwnerReferences: []metav1.OwnerReference{p.owner}},
			Handler:    name,
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil || metav1.GetControllerOf(current) != nil {
		return err
	}
	current = current.DeepCopy()
	current.OwnerReferences = append(current.OwnerReferences, p.owner)
	if current.Labels == nil {
		current.Labels = map[string]string{}
	}
	current.Labels["app.kubernetes.io/component"] = "gpu-operator"
	_, err = classes.Update(ctx, current, metav1.UpdateOptions{})
	return err
}

// report writes the ClusterPolicy's status: state, namespace, and the conditions Ready and Error (internal/conditions).
func (r *reconciler) report(ctx context.Context, object *unstructured.Unstructured, state, reason, message string) error {
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	if status["state"] == state && conditionMessage(status) == message {
		return nil
	}
	now := metav1.Now()
	condition := func(kind, status, reason, message string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now}
	}
	// internal/conditions, seen of v25.10.1 and v26.3.3: what is wrong is said of the one that is true.
	conditions := []map[string]any{condition("Ready", "True", reason, message), condition("Error", "False", "Ready", "")}
	if state != "ready" {
		conditions = []map[string]any{condition("Ready", "False", "Error", ""), condition("Error", "True", reason, message)}
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"state": state, "namespace": r.container.Pod.Namespace, "conditions": conditions}})
	if err != nil {
		return err
	}
	resource := r.operator.dynamic.Resource(policies)
	_, err = resource.Patch(ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		_, err = resource.Patch(ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile
	}
	r.container.Logf("ClusterPolicy is %s: %s", state, message)
	return err
}

// conditionMessage is what the conditions say: one of them has a message.
func conditionMessage(status map[string]any) string {
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if text, _ := condition["message"].(string); text != "" {
			return text
		}
	}
	return ""
}
