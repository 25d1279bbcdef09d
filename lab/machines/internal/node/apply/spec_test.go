package apply

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
)

func TestNodeApply(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"theirs": "old", "same": "1"}}}
	first := nodeSpec{labels: map[string]string{"theirs": "new", "same": "1", "mine": "a"}, taints: []corev1.Taint{{Key: "gpu", Value: "true", Effect: "NoSchedule"}}}
	skipped, err := first.apply(node)
	if err != nil || !slices.Equal(skipped, []string{"theirs"}) {
		t.Errorf("skipped %v, %v", skipped, err)
	}
	if want := map[string]string{"theirs": "old", "same": "1", "mine": "a"}; !maps.Equal(node.Labels, want) {
		t.Errorf("labels %v", node.Labels)
	}
	if node.Annotations[ownedLabels] != `["mine","same"]` || node.Annotations[ownedTaints] != `["gpu"]` {
		t.Errorf("owned %v", node.Annotations)
	}
	second := nodeSpec{labels: map[string]string{"mine": "b"}}
	if _, err := second.apply(node); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"theirs": "old", "mine": "b"}; !maps.Equal(node.Labels, want) {
		t.Errorf("labels %v", node.Labels)
	}
	if len(node.Spec.Taints) != 0 || node.Annotations[ownedTaints] != "" {
		t.Errorf("taints %v, %v", node.Spec.Taints, node.Annotations)
	}
}

// talos v1.12.6, controllers/k8s/node_taint_spec.go.
func TestTaintsOfConfiguration(t *testing.T) {
	spec := nodeSpecOf("worker", host.Snapshot{NodeTaints: map[string]string{"a": "NoSchedule", "b": ":NoExecute", "c": "x:NoSchedule"}})
	want := []corev1.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"}, {Key: "c", Value: "x", Effect: "NoSchedule"}}
	if !slices.Equal(spec.taints, want) {
		t.Errorf("taints %v", spec.taints)
	}
}
