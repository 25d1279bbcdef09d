package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/kubelet"
	"talos-gpu/lab/machines/internal/kubelet/rules"
)

// splittable is a machine with two cards of one kind; its clock does not wait.
type splittable struct {
	host.Machine
	root string
	card host.GPU
}

func (m *splittable) Name() string         { return "gpu-1" }
func (m *splittable) RootFS() string       { return m.root }
func (m *splittable) Clock() host.Clock    { return atOnce{} }
func (m *splittable) Event(string, ...any) {}
func (m *splittable) Snapshot() host.Snapshot {
	return host.Snapshot{TalosVersion: "v1.12.6", Era: host.EraLegacy, DriverVersion: "570.211.01", LibraryVersion: "570.211.01", GPUs: []host.GPU{m.card}}
}

// reboot empties /run.
func (m *splittable) reboot(t *testing.T) {
	if err := os.RemoveAll(filepath.Join(m.root, "run")); err != nil {
		t.Fatal(err)
	}
}

type atOnce struct{ host.Clock }

func (atOnce) Now() float64                                     { return 0 }
func (atOnce) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func h100() host.GPU {
	return host.GPU{Model: "H100 NVL", Count: 2, ComputeCapability: "9.0", MIG: &host.MIG{
		Profiles: map[string]int{"1g.12gb": 7, "1g.24gb": 4, "2g.24gb": 3, "3g.47gb": 2, "4g.47gb": 1, "7g.94gb": 1},
		Balanced: map[string]int{"1g.12gb": 2, "2g.24gb": 1, "3g.47gb": 1},
	}}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.Write(data)
}

func (b *lockedBuffer) text() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.String()
}

// stand is a MIG manager on a machine whose node has a label.
type stand struct {
	machine   *splittable
	operator  *Operator
	container *kubelet.Container
	log       *lockedBuffer
}

func newStand(t *testing.T, card host.GPU, image, config string) *stand {
	t.Helper()
	machine := &splittable{root: filepath.Join(t.TempDir(), "root"), card: card}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name(), Labels: map[string]string{
		migConfig: config, deployPrefix + "device-plugin": "true", deployPrefix + "dcgm-exporter": "false"}}}
	file := filepath.Join(machine.root, "config.yaml")
	if err := os.MkdirAll(machine.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(migDefaults), 0o644); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	return &stand{machine: machine, operator: New(fake.NewClientset(node), nil), log: log, container: &kubelet.Container{
		Pod: &corev1.Pod{}, Spec: &corev1.Container{Image: "nvcr.io/nvidia/cloud-native/k8s-mig-manager:" + image}, Machine: machine, Output: log,
		Libraries: true, Env: map[string]string{"CONFIG_FILE": file}, Devices: kubelet.NewDeviceManager(func() {}, func(time.Duration, func()) {}),
	}}
}

// run lets the manager work until it waits for another label, and gives the node's labels.
func (s *stand) run(t *testing.T) (labels map[string]string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan int, 1)
	before := strings.Count(s.log.text(), "Waiting for change")
	go func() { done <- s.operator.migManager(ctx, s.container) }()
	code = -1
	for code < 0 && strings.Count(s.log.text(), "Waiting for change") < before+2 && ctx.Err() == nil {
		select {
		case code = <-done:
		case <-time.After(5 * time.Millisecond): // its log is all that shows where it is
		}
	}
	cancel()
	if code < 0 {
		<-done
	}
	node, err := s.operator.client.CoreV1().Nodes().Get(t.Context(), s.machine.Name(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node.Labels, code
}

// slicesOf every card, e.g. "3g.47gb 2g.24gb".
func (s *stand) slices() []string {
	var list []string
	for _, card := range kubelet.CardsOf(s.machine) {
		var names []string
		for _, slice := range card.Slices {
			names = append(names, slice.Profile)
		}
		list = append(list, strings.Join(names, " "))
	}
	return list
}

func TestMIGManager(t *testing.T) {
	const old = "v0.12.3-ubuntu20.04"
	seven := strings.TrimSpace(strings.Repeat("1g.12gb ", 7))
	a100 := h100()
	a100.MIG.ModeNeedsReset = true
	for _, test := range []struct {
		name, config string
		card         host.GPU
		state        string
		slices       []string
		said         string
	}{
		{"one profile", "all-1g.12gb", h100(), "success", []string{seven, seven}, "Successfully updated"},
		{"balanced", "all-balanced", h100(), "success", []string{"3g.47gb 2g.24gb 1g.12gb 1g.12gb", "3g.47gb 2g.24gb 1g.12gb 1g.12gb"}, ""},
		{"media engines", "all-1g.12gb.me", h100(), "success", []string{"1g.12gb+me", "1g.12gb+me"}, ""},
		{"nothing to do", "all-disabled", h100(), "success", []string{"", ""}, "already applied"},
		{"unknown name", "all-1g.18gb", h100(), "failed", []string{"", ""}, "selected mig-config not present: all-1g.18gb"},
		{"a card without", "all-enabled", host.GPU{Model: "RTX 4090", Count: 1}, "failed", []string{""}, "Not Supported"},
		{"Ampere's mode waits for a reset", "all-1g.12gb", a100, "failed", []string{"", ""}, "In use by another client"},
	} {
		s := newStand(t, test.card, old, test.config)
		labels, _ := s.run(t)
		if labels[migState] != test.state || !slices.Equal(s.slices(), test.slices) || !strings.Contains(s.log.text(), test.said) {
			t.Errorf("%s: %s, %q; log:\n%s", test.name, labels[migState], s.slices(), s.log.text())
		}
		if labels[deployPrefix+"device-plugin"] != "true" || labels[deployPrefix+"dcgm-exporter"] != "false" {
			t.Errorf("%s: operands are as they were but for those that were absent: %v", test.name, labels)
		}
	}
}

func TestMIGDevicesEndWithTheBoot(t *testing.T) {
	s := newStand(t, h100(), "v0.12.3", "all-7g.94gb")
	s.run(t)
	s.machine.reboot(t)
	if cards := kubelet.CardsOf(s.machine); cards[0].Split || len(cards[0].Slices) > 0 {
		t.Errorf("after a reboot: %+v", cards[0])
	}
	if labels, _ := s.run(t); labels[migState] != "success" || !slices.Equal(s.slices(), []string{"7g.94gb", "7g.94gb"}) {
		t.Errorf("the manager splits again: %v, %q", labels[migState], s.slices())
	}
	ampere := h100()
	ampere.MIG.ModeNeedsReset = true
	s = newStand(t, ampere, "v0.12.3", "all-7g.94gb")
	s.run(t)
	s.machine.reboot(t)
	if labels, _ := s.run(t); labels[migState] != "success" || !slices.Equal(s.slices(), []string{"7g.94gb", "7g.94gb"}) {
		t.Errorf("Ampere keeps the mode: %v, %q", labels[migState], s.slices())
	}
}

func TestMIGManagerOnTalos(t *testing.T) {
	s := newStand(t, h100(), "v0.13.1", "all-1g.12gb")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	s.operator.migManager(ctx, s.container)
	if text := s.log.text(); !strings.HasSuffix(text, "Updating to MIG config: all-1g.12gb\nError: context deadline exceeded\nWaiting for change to 'nvidia.com/mig.config' label\n") {
		t.Errorf("a manager that waits for systemd: %s", text)
	}
	s = newStand(t, h100(), "v0.12.3", "all-1g.12gb")
	s.container.Env["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] = "true"
	if labels, _ := s.run(t); labels[migState] != "failed" || !strings.Contains(s.log.text(), "Read-only file system") {
		t.Errorf("one that goes to the host: %v", labels)
	}
	s = newStand(t, h100(), "v0.12.3", "all-1g.12gb")
	delete(s.container.Env, "CONFIG_FILE")
	if _, code := s.run(t); code != 1 {
		t.Errorf("an old manager needs its file: %d", code)
	}
	s = newStand(t, h100(), "v0.12.3", "all-1g.12gb")
	s.container.Devices.Register(kubelet.Plugin{Resource: "nvidia.com/gpu", Devices: []string{"GPU-x"},
		Allocate: func([]string) (kubelet.Allocation, error) { return kubelet.Allocation{}, nil }})
	if _, err := s.container.Devices.Allocate("pod", "main", "nvidia.com/gpu", 1); err != nil {
		t.Fatal(err)
	}
	if labels, _ := s.run(t); labels[migState] != "failed" || !strings.Contains(s.log.text(), "In use by another client") {
		t.Errorf("a card in use: %v", labels)
	}
}

func TestMIGManagerOperand(t *testing.T) {
	for image, want := range map[string]string{
		"nvcr.io/nvidia/gpu-operator:v25.10.1": "CONFIG_FILE=/mig-parted-config/config.yaml",
		"nvcr.io/nvidia/gpu-operator:v26.3.3":  "DEFAULT_CONFIG_FILE=/mig-parted-config/config-default.yaml",
	} {
		p := policy{operatorImage: image}
		var env []string
		for _, variable := range p.migManager().pod.Containers[0].Env {
			env = append(env, variable.Name+"="+variable.Value)
		}
		if !slices.Contains(env, want) {
			t.Errorf("%s: %v", image, env)
		}
	}
	mps := policy{}.mpsControlDaemon()
	if selector := (policy{}).daemonSet(mps).Spec.Template.Spec.NodeSelector; selector[mpsCapable] != "true" || selector[deployPrefix+"device-plugin"] != "true" {
		t.Errorf("MPS control daemon: %v", selector)
	}
}

func TestResourceLabels(t *testing.T) {
	cards := func(profiles ...string) []kubelet.GPU {
		list := kubelet.GPUsOf("m", host.Snapshot{GPUs: []host.GPU{h100()}})
		for i := range list {
			list[i].Split = len(profiles) > 0
			for index, profile := range profiles {
				list[i].Slices = append(list[i].Slices, kubelet.Slice{Index: index, UUID: fmt.Sprint(index), Profile: profile})
			}
		}
		return list
	}
	for _, test := range []struct {
		name    string
		cards   []kubelet.GPU
		sharing rules.Sharing
		want    map[string]string
	}{
		{"single, not split", cards(), rules.Sharing{Replicas: 1, MIG: "single"}, map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.count": "2", "nvidia.com/mig.strategy": "single"}},
		{"single", cards("1g.12gb", "1g.12gb"), rules.Sharing{Replicas: 1, MIG: "single"}, map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-1g.12gb", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.slices.gi": "1"}},
		{"single, unlike", cards("1g.12gb", "2g.24gb"), rules.Sharing{Replicas: 1, MIG: "single"}, map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-INVALID", "nvidia.com/gpu.count": "0"}},
		{"mixed", cards("3g.47gb", "1g.12gb+me"), rules.Sharing{Replicas: 1, MIG: "mixed"}, map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.replicas": "0", "nvidia.com/mig-3g.47gb.count": "2",
			"nvidia.com/mig-1g.12gb.me.product": "NVIDIA-H100-NVL-MIG-1g.12gb.me", "nvidia.com/mig-3g.47gb.slices.ci": "3"}},
		{"MPS", cards(), rules.Sharing{Replicas: 4, MPS: true, MIG: "none"}, map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-SHARED", "nvidia.com/gpu.sharing-strategy": "mps", "nvidia.com/gpu.replicas": "4"}},
	} {
		labels := resourceLabels(test.cards, test.sharing)
		for key, want := range test.want {
			if labels[key] != want {
				t.Errorf("%s: %s=%q, want %q", test.name, key, labels[key], want)
			}
		}
	}
}
