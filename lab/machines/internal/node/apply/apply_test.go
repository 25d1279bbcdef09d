package apply

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
)

// labelled is a machine that wants one label on its node.
type labelled struct {
	host.Machine
	events chan string
}

func (labelled) Name() string                  { return "gpu-1" }
func (labelled) Key() string                   { return "gpu-1" }
func (labelled) Role() string                  { return "worker" }
func (labelled) Clock() *clock.Clock           { return clock.New(600) }
func (m labelled) Event(text string, _ ...any) { m.events <- text }
func (labelled) Snapshot() host.Snapshot {
	return host.Snapshot{NodeWants: map[string]string{"label mine": "a"}}
}

// start runs the controller against an API that has the node, until the test ends.
func start(t *testing.T, client kubernetes.Interface) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	c := newController(labelled{events: make(chan string, 100)})
	go func() {
		c.run(ctx, client)
		close(ended)
	}()
	c.loop.Changed()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// untilLabelled watches the node until it has the label.
func untilLabelled(t *testing.T, nodes watch.Interface) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case event := <-nodes.ResultChan():
			if node, ok := event.Object.(*corev1.Node); ok && node.Labels["mine"] == "a" {
				return
			}
		case <-limit:
			t.Fatal("the node never got its label")
		}
	}
}

func TestControllerComesBackAfterAnErrorAndTakesALabelBack(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}})
	fails := 3
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		fails--
		return fails >= 0, nil, errors.New("context deadline exceeded")
	})
	nodes, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, client)
	untilLabelled(t, nodes)
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), "gpu-1", types.MergePatchType, []byte(`{"metadata":{"labels":{"mine":null}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	untilLabelled(t, nodes)
}

func TestNodeApply(t *testing.T) {
	node, owned := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"theirs": "old", "same": "1"}}}, map[string]bool{}
	first := map[string]string{"label theirs": "new", "label same": "1", "label mine": "a", "taint gpu": "true:NoSchedule"}
	want := corev1.Taint{Key: "gpu", Value: "true", Effect: "NoSchedule"}
	if foreign := take(node, first, owned); !slices.Equal(foreign, []string{"label theirs"}) || len(node.Spec.Taints) != 1 || node.Spec.Taints[0] != want {
		t.Errorf("foreign %v, taints %v", foreign, node.Spec.Taints)
	}
	if want := map[string]string{"theirs": "old", "same": "1", "mine": "a"}; !maps.Equal(node.Labels, want) {
		t.Errorf("labels %v", node.Labels)
	}
	take(node, map[string]string{"label mine": "b"}, owned)
	if want := map[string]string{"theirs": "old", "mine": "b"}; !maps.Equal(node.Labels, want) || len(node.Spec.Taints) != 0 {
		t.Errorf("labels %v, taints %v", node.Labels, node.Spec.Taints)
	}
}
