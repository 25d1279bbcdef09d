package resources_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/resources"
)

// TestPartitions: by the partition BOOT a client tells GRUB, by which no emulated machine boots.
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
