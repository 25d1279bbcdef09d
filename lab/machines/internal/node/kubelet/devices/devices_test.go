package devices

import (
	"strings"
	"testing"
	"time"
)

func TestManager(t *testing.T) {
	changes := 0
	var later []func()
	manager := NewManager(func() { changes++ }, func(_ time.Duration, do func()) { later = append(later, do) })
	const gpu = "nvidia.com/gpu"
	if _, err := manager.allocate("p0", gpu, 1); err == nil || !strings.Contains(err.Error(), "no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu") {
		t.Errorf("before a plugin: %v", err)
	}
	stop := manager.Register(Plugin{Resource: gpu, Devices: []string{"a", "b"}, Allocate: func(devices []string) (Allocation, error) {
		return Allocation{Visible: strings.Join(devices, ",")}, nil
	}})
	first, err := manager.allocate("p1", gpu, 1)
	if err != nil || first.Visible != "a" {
		t.Errorf("first: %v, %v", first, err)
	}
	if _, err := manager.allocate("p2", gpu, 2); err == nil || !strings.Contains(err.Error(), "Requested: 2, Available: 1") {
		t.Errorf("too many: %v", err)
	}
	manager.Free("p1")
	if _, err := manager.allocate("p2", gpu, 2); err != nil {
		t.Errorf("after the first is gone: %v", err)
	}
	stop()
	if capacity, allocatable := manager.Offer(); capacity[gpu] != 2 || allocatable[gpu] != 0 {
		t.Errorf("just stopped: capacity %v, allocatable %v", capacity, allocatable)
	}
	for _, do := range later {
		do()
	}
	if capacity, _ := manager.Offer(); capacity[gpu] != 0 {
		t.Errorf("after the grace: capacity %v", capacity)
	}
	if changes != 3 {
		t.Errorf("%d changes told, want 3", changes)
	}
}
