package resources_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/resources"
)

// TestPartitions checks that there is no partition BOOT. A client detects GRUB by this partition, and no emulated
// machine boots with GRUB.
func TestPartitions(t *testing.T) {
	st, err := resources.NewState(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	configuration := container.NewV1Alpha1(&v1alpha1.Config{})
	view := resources.View{Snapshot: host.Snapshot{TalosVersion: "v1.14.1", Config: configuration}, Persistent: configuration}
	if err := st.Show(context.Background(), view); err != nil {
		t.Fatal(err)
	}
	volumes, err := safe.StateListAll[*block.DiscoveredVolume](context.Background(), st)
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for volume := range volumes.All() {
		labels = append(labels, volume.TypedSpec().PartitionLabel)
	}
	if !slices.Contains(labels, "META") || slices.Contains(labels, "BOOT") {
		t.Errorf("partitions %v", labels)
	}
}

// TestStaticPods checks that a control plane's static pods have their image, and are absent while no kubelet runs.
func TestStaticPods(t *testing.T) {
	st, err := resources.NewState(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	configuration := container.NewV1Alpha1(&v1alpha1.Config{})
	view := resources.View{Snapshot: host.Snapshot{TalosVersion: "v1.13.0", Config: configuration}, Persistent: configuration, Name: "control"}
	for _, images := range []map[string]string{{"kube-scheduler": "kube-scheduler:v1.35.0"}, {"kube-scheduler": "kube-scheduler:v1.36.0"}, {}} {
		view.StaticPods = images
		if err := st.Show(context.Background(), view); err != nil {
			t.Fatal(err)
		}
		pods, err := safe.StateListAll[*k8s.StaticPodStatus](context.Background(), st)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for pod := range pods.All() {
			status := pod.TypedSpec().PodStatus["containerStatuses"].([]any)[0].(map[string]any)
			seen[status["name"].(string)] = status["image"].(string)
			if pod.Metadata().ID() != "kube-system/kube-scheduler-control" {
				t.Errorf("ID %s", pod.Metadata().ID())
			}
		}
		if !maps.Equal(seen, images) {
			t.Errorf("static pods %v, want %v", seen, images)
		}
	}
}
