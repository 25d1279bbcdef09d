package apply

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
)

// labelled is a machine that wants one label.
type labelled struct {
	host.Machine
	events chan string
}

func (labelled) Name() string                  { return "gpu-1" }
func (labelled) Key() string                   { return "gpu-1" }
func (labelled) Role() string                  { return "worker" }
func (labelled) Clock() host.Clock             { return clock.New(600) }
func (m labelled) Event(text string, _ ...any) { m.events <- text }
func (labelled) Snapshot() host.Snapshot {
	return host.Snapshot{NodeLabels: map[string]string{"mine": "a"}}
}

// applierOf starts the controller against an API that holds the node.
func applierOf(t *testing.T) (*fake.Clientset, *Controller, labelled) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}})
	machine := labelled{events: make(chan string, 100)}
	return client, New(machine, client, client), machine
}

// start runs the controller until the test ends.
func start(t *testing.T, applier *Controller) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		applier.Run(ctx)
		close(ended)
	}()
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

func TestControllerComesBackAfterAnError(t *testing.T) {
	client, applier, _ := applierOf(t)
	fails := 3
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		fails--
		return fails >= 0, nil, errors.New("context deadline exceeded")
	})
	nodes, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, applier)
	applier.Changed()
	untilLabelled(t, nodes)
}

func TestControllerTakesALabelBack(t *testing.T) {
	client, applier, _ := applierOf(t)
	nodes, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, applier)
	untilLabelled(t, nodes)
	node, err := client.CoreV1().Nodes().Get(t.Context(), "gpu-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(node.Labels, "mine")
	if _, err := client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	untilLabelled(t, nodes)
}
