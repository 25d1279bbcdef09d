package devices

import (
	"slices"
	"strings"
	"testing"
)

func TestManager(t *testing.T) {
	changes := 0
	manager := NewManager(func() { changes++ })
	const gpu = "nvidia.com/gpu"
	if _, err := manager.allocate("p0", gpu, 1); err == nil || !strings.Contains(err.Error(), "no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu") {
		t.Errorf("before a plugin is registered: %v", err)
	}
	stop := manager.Register(Plugin{Resource: gpu, Devices: []string{"a", "b"}, Allocate: func(devices []string) (Allocation, error) {
		return Allocation{Devices: devices}, nil
	}})
	first, err := manager.allocate("p1", gpu, 1)
	if err != nil || !slices.Equal(first.Devices, []string{"a"}) {
		t.Errorf("first pod: %v, %v", first, err)
	}
	if _, err := manager.allocate("p2", gpu, 2); err == nil || !strings.Contains(err.Error(), "Requested: 2, Available: 1") {
		t.Errorf("too many devices: %v", err)
	}
	manager.Free("p1")
	manager.Free("p2")
	if _, err := manager.allocate("p2", gpu, 2); err != nil {
		t.Errorf("after the first pod is gone: %v", err)
	}
	stop()
	if count, told := manager.Offer()[gpu]; count != 0 || !told || changes != 2 {
		t.Errorf("plugin stopped: %d devices, resource offered %v, %d changes", count, told, changes)
	}
}
