package mig

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// splittable is a machine with two cards of one kind.
type splittable struct {
	host.Machine
	root, boot string
	card       host.GPU
}

func (m *splittable) Name() string         { return "gpu-1" }
func (m *splittable) Key() string          { return "gpu-1" }
func (m *splittable) RootFS() string       { return m.root }
func (m *splittable) Event(string, ...any) {}
func (m *splittable) Snapshot() host.Snapshot {
	return host.Snapshot{BootID: m.boot, TalosVersion: "v1.12.6", Era: host.EraLegacy, DriverVersion: "570.211.01", LibraryVersion: "570.211.01", GPUs: []host.GPU{m.card}}
}

func h100() host.GPU {
	return host.GPU{Model: "H100 NVL", Count: 2, ComputeCapability: "9.0", MIG: &host.MIG{
		Profiles: map[string]int{"1g.12gb": 7, "1g.24gb": 4, "2g.24gb": 3, "3g.47gb": 2, "4g.47gb": 1, "7g.94gb": 1},
		Balanced: map[string]int{"1g.12gb": 2, "2g.24gb": 1, "3g.47gb": 1},
	}}
}

// slicesOf every card, e.g. "3g.47gb 2g.24gb".
func slicesOf(machine host.Machine) (list []string) {
	for _, card := range gpu.Cards(machine) {
		var names []string
		for _, slice := range card.Slices {
			names = append(names, slice.Profile)
		}
		list = append(list, strings.Join(names, " "))
	}
	return list
}

func TestReconfigure(t *testing.T) {
	seven := strings.TrimSpace(strings.Repeat("1g.12gb ", 7))
	none, a100 := []string{"", ""}, h100()
	a100.MIG.ModeNeedsReset = true
	for _, test := range []struct {
		name, config string
		card         host.GPU
		env          string // one more variable, which is true
		inUse        bool
		boots        int // before the last try
		slices       []string
		problem      string
	}{
		{name: "one profile", config: "all-1g.12gb", card: h100(), slices: []string{seven, seven}},
		{name: "devices end with the boot, and are made again", config: "all-7g.94gb", card: h100(), boots: 1, slices: []string{"7g.94gb", "7g.94gb"}},
		{name: "balanced", config: "all-balanced", card: h100(), slices: []string{"3g.47gb 2g.24gb 1g.12gb 1g.12gb", "3g.47gb 2g.24gb 1g.12gb 1g.12gb"}},
		{name: "media engines", config: "all-1g.12gb.me", card: h100(), slices: []string{"1g.12gb+me", "1g.12gb+me"}},
		{name: "nothing to do", config: "all-disabled", card: h100(), slices: none},
		{name: "unknown name", config: "all-1g.18gb", card: h100(), slices: none, problem: "selected mig-config not present: all-1g.18gb"},
		{name: "a card without", config: "all-enabled", card: host.GPU{Model: "RTX 4090", Count: 1}, slices: []string{""}, problem: "Not Supported"},
		{name: "Ampere's mode waits for a reset", config: "all-1g.12gb", card: a100, slices: none, problem: "In use by another client"},
		{name: "Ampere's mode is there after a boot", config: "all-7g.94gb", card: a100, boots: 1, slices: []string{"7g.94gb", "7g.94gb"}},
		{name: "a card in use", config: "all-1g.12gb", card: h100(), inUse: true, slices: none, problem: "In use by another client"},
		{name: "one that goes to the host", config: "all-1g.12gb", card: h100(), env: "WITH_SHUTDOWN_HOST_GPU_CLIENTS", slices: none, problem: "nvidia-mig-parted’: No such file"},
	} {
		machine := &splittable{root: filepath.Join(t.TempDir(), "root"), card: test.card}
		client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name()}})
		c := &programs.Container{Pod: &corev1.Pod{}, Machine: machine, Output: &bytes.Buffer{}, Libraries: true, Env: map[string]string{test.env: "true"},
			Read: func(string) ([]byte, error) { return []byte(Defaults), nil }, Devices: devices.NewManager(func() {}, func(time.Duration, func()) {})}
		if test.inUse {
			c.Devices.Register(devices.Plugin{Resource: "nvidia.com/gpu", Devices: []string{"GPU-x"}, Allocate: func([]string) (devices.Allocation, error) { return devices.Allocation{}, nil }})
			limits := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
			if _, err := c.Devices.Admit(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: limits}}}}}); err != nil {
				t.Fatal(err)
			}
		}
		for range test.boots {
			_ = New(client).reconfigure(t.Context(), c, 12, test.config)
			if machine.boot += "+"; !slices.Equal(slicesOf(machine), none) {
				t.Errorf("%s: there are devices after a boot", test.name)
			}
		}
		err := New(client).reconfigure(t.Context(), c, 12, test.config)
		node, _ := client.CoreV1().Nodes().Get(t.Context(), machine.Name(), metav1.GetOptions{})
		state := map[bool]string{true: "success", false: "failed"}[test.problem == ""]
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) || node.Labels[nodelabels.MIGState] != state || !slices.Equal(slicesOf(machine), test.slices) {
			t.Errorf("%s: %v, %s, %q", test.name, err, node.Labels[nodelabels.MIGState], slicesOf(machine))
		}
	}
}

// From v0.13 on it waits for systemd for ever, and says nothing on the node.
func TestANewManagerNeverEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := New(nil).reconfigure(ctx, &programs.Container{}, 13, "all-1g.12gb"); err == nil || ctx.Err() == nil {
		t.Errorf("%v", err)
	}
}
