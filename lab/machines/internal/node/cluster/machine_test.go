package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"talos-gpu/lab/machines/internal/host"
)

// testMachine is a machine whose state the test sets.
type testMachine struct {
	name, address, role, root string
	clock                     testClock
	mutex                     sync.Mutex
	snapshot                  host.Snapshot
	watchers                  []chan struct{}
	events                    []string
}

type testClock struct {
	began time.Time
	scale float64
}

func (c testClock) Now() float64 { return time.Since(c.began).Seconds() * c.scale }
func (c testClock) Real(lab time.Duration) time.Duration {
	return time.Duration(float64(lab) / c.scale)
}
func (c testClock) Sleep(ctx context.Context, lab time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.Real(lab)):
		return nil
	}
}

// newTestMachine is a worker with one RTX 5070 Ti on Talos 1.12, all fixes applied.
func newTestMachine(t *testing.T) *testMachine {
	m := &testMachine{name: "k8s-worker4", address: "192.168.1.224", role: "worker", root: t.TempDir(), clock: testClock{time.Now(), 60}}
	m.snapshot = host.Snapshot{
		Booted: true, BootID: "boot-1", TalosVersion: "v1.12.6", KubernetesVersion: "v1.35.0", Era: host.EraLegacy, KubeletRunning: true,
		DriverVersion: "570.211.01", LibraryVersion: "570.211.01", DriverFlavour: "open",
		Modules:  []string{"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"},
		Sysctls:  map[string]string{"net.core.bpf_jit_harden": "1"},
		Runtimes: []string{"runc", "nvidia"}, DefaultRuntime: "runc",
		GPUs: []host.GPU{{Model: "RTX 5070 Ti", Architecture: "Blackwell", PCIDevice: "0300_10de", Count: 1, MemoryMiB: 16303,
			ComputeCapability: "12.0", MinPowerW: 150, MaxPowerW: 300, DefaultPowerW: 300}},
		NodeLabels:      map[string]string{"extensions.talos.dev/nvidia-container-toolkit-production": "570.211.01-v1.18.2"},
		NodeAnnotations: map[string]string{"extensions.talos.dev/schematic": "abc"},
	}
	file := filepath.Join(m.root, "proc/driver/nvidia/version")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.211.01\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *testMachine) Name() string      { return m.name }
func (m *testMachine) Key() string       { return m.name }
func (m *testMachine) Address() string   { return m.address }
func (m *testMachine) Role() string      { return m.role }
func (m *testMachine) RootFS() string    { return m.root }
func (m *testMachine) Clock() host.Clock { return m.clock }
func (m *testMachine) Event(format string, args ...any) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.events = append(m.events, fmt.Sprintf(format, args...))
}

// said is every event so far.
func (m *testMachine) said() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.events)
}

func (m *testMachine) Snapshot() host.Snapshot {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.snapshot
}

func (m *testMachine) change(change func(*host.Snapshot)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	change(&m.snapshot)
	for _, watcher := range m.watchers {
		select {
		case watcher <- struct{}{}:
		default:
		}
	}
}

func (m *testMachine) Watch(ctx context.Context) <-chan struct{} {
	inner, out := make(chan struct{}, 1), make(chan struct{})
	inner <- struct{}{}
	m.mutex.Lock()
	m.watchers = append(m.watchers, inner)
	m.mutex.Unlock()
	go func() {
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case <-inner:
			}
			select {
			case <-ctx.Done():
				return
			case out <- struct{}{}:
			}
		}
	}()
	return out
}
