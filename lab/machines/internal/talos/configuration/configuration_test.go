package configuration

import (
	"maps"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// Source: talos v1.12.6, controllers/k8s/node_taint_spec.go.
func TestTaintsOfANode(t *testing.T) {
	taints := map[string]string{"a": "NoSchedule", "b": ":NoExecute", "c": "x:NoSchedule"}
	provider := container.NewV1Alpha1(&v1alpha1.Config{MachineConfig: &v1alpha1.MachineConfig{MachineNodeTaints: taints}})
	want := map[string]string{"annotation extensions.talos.dev/schematic": "id", "taint a": ":NoSchedule", "taint b": ":NoExecute", "taint c": "x:NoSchedule"}
	if found := NodeWants(provider, "id", nil); !maps.Equal(found, want) {
		t.Errorf("%v", found)
	}
}
