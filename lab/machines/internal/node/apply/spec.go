package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
)

// The annotations in which Talos keeps what it put on a node (talos v1.13.9 pkg/machinery/constants).
const (
	ownedLabels      = "talos.dev/owned-labels"
	ownedAnnotations = "talos.dev/owned-annotations"
	ownedTaints      = "talos.dev/owned-taints"
)

const controlPlaneRole = "node-role.kubernetes.io/control-plane"

// nodeSpec is what Talos wants on the node.
type nodeSpec struct {
	labels      map[string]string
	annotations map[string]string
	taints      []corev1.Taint
}

// nodeSpecOf adds the control plane's label and taint (talos v1.13.9 controllers/k8s/node_label_spec.go,
// node_taint_spec.go) to what the machine's configuration and extensions say.
func nodeSpecOf(role string, s host.Snapshot) nodeSpec {
	spec := nodeSpec{labels: map[string]string{}, annotations: map[string]string{}}
	maps.Copy(spec.labels, s.NodeLabels)
	maps.Copy(spec.annotations, s.NodeAnnotations)
	if role == "controlplane" {
		spec.labels[controlPlaneRole] = ""
		if s.Config == nil || s.Config.Cluster() == nil || !s.Config.Cluster().ScheduleOnControlPlanes() {
			spec.taints = append(spec.taints, corev1.Taint{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	for key, valueEffect := range s.NodeTaints {
		value, effect, found := strings.Cut(valueEffect, ":")
		if !found {
			value, effect = "", valueEffect // without a colon it is the effect alone
		}
		spec.taints = append(spec.taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	slices.SortFunc(spec.taints, func(a, b corev1.Taint) int { return strings.Compare(a.Key, b.Key) })
	return spec
}

// apply changes the node as Talos' NodeApplyController does, and tells which keys it left alone because somebody else set
// another value (talos v1.13.9 internal/app/machined/pkg/controllers/k8s/node_apply.go).
func (spec nodeSpec) apply(node *corev1.Node) (skipped []string, err error) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	owned := map[string]map[string]bool{}
	for _, annotation := range []string{ownedLabels, ownedAnnotations, ownedTaints} {
		if owned[annotation], err = readOwned(node, annotation); err != nil {
			return nil, err
		}
	}
	skipped = append(applyKeys(node.Labels, owned[ownedLabels], spec.labels),
		applyKeys(node.Annotations, owned[ownedAnnotations], spec.annotations)...)
	skipped = append(skipped, applyTaints(node, owned[ownedTaints], spec.taints)...)
	for annotation, keys := range owned {
		writeOwned(node, annotation, keys)
	}
	slices.Sort(skipped)
	return skipped, nil
}

func readOwned(node *corev1.Node, annotation string) (map[string]bool, error) {
	owned, keys := map[string]bool{}, []string{}
	if text := node.Annotations[annotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &keys); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", annotation, err)
		}
	}
	for _, key := range keys {
		owned[key] = true
	}
	return owned, nil
}

func writeOwned(node *corev1.Node, annotation string, owned map[string]bool) {
	if len(owned) == 0 {
		delete(node.Annotations, annotation)
		return
	}
	text, _ := json.Marshal(slices.Sorted(maps.Keys(owned))) // strings always marshal
	node.Annotations[annotation] = string(text)
}

// applyKeys takes over keys that are absent or equal, changes only what Talos owns, and removes what it owns no longer.
func applyKeys(current map[string]string, owned map[string]bool, wanted map[string]string) (skipped []string) {
	for key, value := range wanted {
		old, exists := current[key]
		if exists && old != value && !owned[key] {
			skipped = append(skipped, key)
			continue
		}
		current[key], owned[key] = value, true
	}
	for key := range owned {
		if _, still := wanted[key]; !still {
			delete(current, key)
			delete(owned, key)
		}
	}
	return skipped
}

// applyTaints does the same for taints, by key.
func applyTaints(node *corev1.Node, owned map[string]bool, wanted []corev1.Taint) (skipped []string) {
	stays := map[string]bool{}
	for _, taint := range wanted {
		stays[taint.Key] = true
		at := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taint.Key })
		switch {
		case at < 0:
			node.Spec.Taints = append(node.Spec.Taints, taint)
			owned[taint.Key] = true
		case node.Spec.Taints[at].Value == taint.Value && node.Spec.Taints[at].Effect == taint.Effect:
			owned[taint.Key] = true
		case owned[taint.Key]:
			node.Spec.Taints[at].Value, node.Spec.Taints[at].Effect = taint.Value, taint.Effect
		default:
			skipped = append(skipped, taint.Key)
		}
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return owned[t.Key] && !stays[t.Key] })
	for key := range owned {
		if !stays[key] {
			delete(owned, key)
		}
	}
	return skipped
}
