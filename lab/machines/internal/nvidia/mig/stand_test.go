package mig

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// splittable is a machine with two cards of one kind; its clock does not wait.
type splittable struct {
	host.Machine
	root, boot string
	card       host.GPU
}

func (m *splittable) Name() string         { return "gpu-1" }
func (m *splittable) Key() string          { return "gpu-1" }
func (m *splittable) RootFS() string       { return m.root }
func (m *splittable) Clock() host.Clock    { return atOnce{} }
func (m *splittable) Event(string, ...any) {}
func (m *splittable) Snapshot() host.Snapshot {
	return host.Snapshot{BootID: m.boot, TalosVersion: "v1.12.6", Era: host.EraLegacy, DriverVersion: "570.211.01", LibraryVersion: "570.211.01", GPUs: []host.GPU{m.card}}
}

func (m *splittable) reboot() { m.boot += "+" }

type atOnce struct{ host.Clock }

func (atOnce) Now() float64 { return 0 }
func (atOnce) Sleep(ctx context.Context, _ time.Duration) error {
	time.Sleep(time.Millisecond)
	return ctx.Err()
}

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
	client    kubernetes.Interface
	container *programs.Container
	log       *lockedBuffer
}

func newStand(t *testing.T, card host.GPU, image, config string) *stand {
	t.Helper()
	machine := &splittable{root: filepath.Join(t.TempDir(), "root"), card: card}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name(), Labels: map[string]string{nodelabels.MIGConfig: config}}}
	file := filepath.Join(machine.root, "config.yaml")
	if err := os.MkdirAll(machine.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(Defaults), 0o644); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	return &stand{machine: machine, client: fake.NewClientset(node), log: log, container: &programs.Container{
		Pod: &corev1.Pod{}, Spec: &corev1.Container{Image: "nvcr.io/nvidia/cloud-native/k8s-mig-manager:" + image}, Machine: machine, Output: log,
		Libraries: true, Read: os.ReadFile, Env: map[string]string{"CONFIG_FILE": file}, Devices: devices.NewManager(func() {}, func(time.Duration, func()) {}),
	}}
}

// run lets the manager work until it waits for another label, and gives the node's labels.
func (s *stand) run(t *testing.T) (labels map[string]string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	before := len(s.log.text())
	done := make(chan int, 1)
	go func() { done <- New(s.client).Run(ctx, s.container) }()
	code = -1
	for code < 0 && !strings.Contains(s.log.text()[before:], "Error: ") && !strings.Contains(s.log.text()[before:], "Successfully") && ctx.Err() == nil {
		select {
		case code = <-done:
		case <-time.After(5 * time.Millisecond): // its log is all that shows where it is
		}
	}
	cancel()
	if code < 0 {
		<-done
	}
	node, err := s.client.CoreV1().Nodes().Get(t.Context(), s.machine.Name(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node.Labels, code
}

// slicesOf every card, e.g. "3g.47gb 2g.24gb".
func (s *stand) slices() []string {
	var list []string
	for _, card := range gpu.Cards(s.machine) {
		var names []string
		for _, slice := range card.Slices {
			names = append(names, slice.Profile)
		}
		list = append(list, strings.Join(names, " "))
	}
	return list
}
