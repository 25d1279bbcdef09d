package deviceplugin

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/kubelet/smi"
)

// shared is a machine with one card; its clock does not wait.
type shared struct {
	host.Machine
	root string
}

func (m *shared) Name() string      { return "gpu-1" }
func (m *shared) Key() string       { return "gpu-1" }
func (m *shared) RootFS() string    { return m.root }
func (m *shared) Clock() host.Clock { return atOnce{} }
func (m *shared) Snapshot() host.Snapshot {
	return host.Snapshot{GPUs: []host.GPU{{Model: "RTX 3090", Count: 1, ComputeCapability: "8.6"}}}
}

type atOnce struct{ host.Clock }

func (atOnce) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func TestMPS(t *testing.T) {
	yes := true
	for _, test := range []struct {
		name     string
		hostPID  bool
		replicas string
		client   string // what a client is told while the daemon runs
		said     string
	}{
		{"as it should be", true, "4", "", "Staring MPS daemon"},
		{"without the host's processes", false, "4", "the MPS server is not ready to accept new MPS client requests", ""},
		{"too many", true, "49", "MPS client failed to connect to the MPS control daemon or the MPS server", "maximum allowed replicas exceeded: 49 > 48"},
	} {
		machine := &shared{root: t.TempDir()}
		cards := gpu.Unsplit("gpu-1", machine.Snapshot())
		config := filepath.Join(machine.root, "config.yaml")
		text := "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: " + test.replicas + "}]}}\n"
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		log := &strings.Builder{}
		root := filepath.Join(machine.root, "mps")
		daemon := &cri.Container{Pod: &corev1.Pod{Spec: corev1.PodSpec{HostPID: test.hostPID}}, Machine: machine, GPUs: cards, Libraries: true, Output: log,
			Spec: &corev1.Container{SecurityContext: &corev1.SecurityContext{Privileged: &yes}},
			Env:  map[string]string{"CONFIG_FILE": config}, Paths: cri.PathsOf(map[string]string{"/mps": root})}
		pipe := filepath.Join(root, "nvidia.com/gpu/pipe")
		client := &cri.Container{Machine: machine, GPUs: cards, Output: io.Discard, Env: map[string]string{mpsPipeVariable: pipe}}
		bystander := &cri.Container{Machine: machine, GPUs: cards, Output: io.Discard}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan int, 1)
		go func() { done <- ControlMPS(ctx, daemon) }()
		ended := false
		for !ended && !exists(filepath.Join(root, ".ready")) {
			select {
			case <-done:
				ended = true
			case <-time.After(time.Millisecond): // the file is all that shows that it is up
			}
		}
		if got := MPSError(client); got != test.client {
			t.Errorf("%s: %q, want %q", test.name, got, test.client)
		}
		if !ended && MPSError(bystander) == "" {
			t.Errorf("%s: a card in exclusive mode is the server's", test.name)
		}
		stop()
		if !ended {
			<-done
		}
		if !strings.Contains(log.String(), test.said) || smi.SettingsOf(machine.root).ComputeMode(cards[0]) != smi.ComputeDefault || exists(controlPipe(pipe)) {
			t.Errorf("%s: it takes everything back; log:\n%s", test.name, log)
		}
	}
}
