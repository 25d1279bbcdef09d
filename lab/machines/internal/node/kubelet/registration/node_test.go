package registration

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
)

// stoppedClock stands still: every sleep is told, and lasts until the test lets it go on.
type stoppedClock struct {
	host.Clock
	now    *float64
	sleeps chan time.Duration
	goOn   chan struct{}
}

func (c stoppedClock) Now() float64 { return *c.now }

func (c stoppedClock) Sleep(ctx context.Context, lab time.Duration) error {
	c.sleeps <- lab
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.goOn:
		*c.now += lab.Seconds()
		return nil
	}
}

type stopped struct {
	host.Machine
	clock stoppedClock
}

func (stopped) Name() string            { return "gpu-1" }
func (stopped) Key() string             { return "gpu-1" }
func (stopped) Address() string         { return "192.0.2.1" }
func (stopped) Snapshot() host.Snapshot { return host.Snapshot{} }
func (m stopped) Clock() host.Clock     { return m.clock }

// A plugin that comes is offered at the kubelet's next sync, 10 seconds after the one before, and not at once.
func TestOfferIsPublishedAtTheNextSync(t *testing.T) {
	now := 100.0
	clock := stoppedClock{now: &now, sleeps: make(chan time.Duration), goOn: make(chan struct{})}
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}})
	machine := stopped{clock: clock}
	registered := New(machine, client, Config{Recorder: record.NewFakeRecorder(10)})
	manager := devices.NewManager(registered.Changed, func(time.Duration, func()) {})
	registered.Offer = manager.Offer
	changes, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	statusOf := func(node *corev1.Node) (ready bool, units string) {
		for _, condition := range node.Status.Conditions {
			ready = ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}
		quantity := node.Status.Allocatable["nvidia.com/gpu"]
		return ready, quantity.String()
	}
	// untilOffered watches until the node is ready and offers so many.
	untilOffered := func(wanted string) {
		limit := time.After(20 * time.Second)
		for {
			select {
			case event := <-changes.ResultChan():
				if ready, units := statusOf(event.Object.(*corev1.Node)); ready && units == wanted {
					return
				}
			case <-limit:
				t.Fatalf("the node never offered %s", wanted)
			}
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		registered.Run(ctx)
	}()
	<-clock.sleeps // its start
	clock.goOn <- struct{}{}
	untilOffered("0")
	manager.Register(devices.Plugin{Resource: "nvidia.com/gpu", Devices: []string{"a", "b"}})
	if wait := <-clock.sleeps; wait > statusFrequency || wait <= 0 {
		t.Errorf("waits for its next sync %v", wait)
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "gpu-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, units := statusOf(node); units != "0" {
		t.Errorf("offers %s before the sync", units)
	}
	clock.goOn <- struct{}{}
	untilOffered("2")
	cancel()
	<-ended
}

func TestUntilSync(t *testing.T) {
	for since, want := range map[float64]time.Duration{0: 10 * time.Second, 3: 7 * time.Second, 25: 5 * time.Second} {
		if have := untilSync(since); have != want {
			t.Errorf("%v s after the first: %v, want %v", since, have, want)
		}
	}
}
