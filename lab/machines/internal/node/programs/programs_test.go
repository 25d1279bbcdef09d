package programs

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// machine has the state that the test sets. Its clock does not wait.
type machine struct {
	host.Machine
	state host.Snapshot
}

func (m machine) Clock() *clock.Clock     { return clock.New(1e9) }
func (m machine) Snapshot() host.Snapshot { return m.state }

var healthy = host.Snapshot{DriverVersion: "570.211.01", LibraryVersion: "570.211.01", Modules: []string{"nvidia", "nvidia_uvm"}}

var sh = func(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestOutcomes(t *testing.T) {
	const cuda, sample = "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"
	card := gpu.Card{GPU: host.GPU{Model: "RTX 5070 Ti"}, Slices: []gpu.Slice{{Profile: "1g.12gb"}}}
	with := func(change func(*host.Snapshot)) host.Snapshot {
		s := healthy
		change(&s)
		return s
	}
	for _, test := range []struct {
		name, image string
		argv        []string
		state       host.Snapshot
		bare        bool // no card
		env         map[string]string
		code        int
		said        string
	}{
		{name: "computes", image: sample, state: healthy, said: "Test PASSED"},
		{name: "without libraries", image: sample, state: healthy, bare: true, code: 1, said: "CUDA driver version is insufficient"},
		{name: "CUDA of another major", image: "cuda-sample:vectoradd-cuda13.0.0", state: healthy, code: 1, said: "CUDA driver version is insufficient"},
		{name: "CUDA 11 on any newer driver", image: "cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04", state: healthy, said: "Test PASSED"},
		{name: "no nvidia_uvm", image: sample, state: with(func(s *host.Snapshot) { s.Modules = []string{"nvidia"} }), code: 1, said: "unknown error"},
		{name: "nvidia-smi", image: cuda, argv: []string{"nvidia-smi", "-L"}, said: "GPU 0: NVIDIA GeForce RTX 5070 Ti"},
		{name: "no nvidia-smi", image: cuda, argv: []string{"nvidia-smi"}, bare: true, code: 127, said: "not found"},
		{name: "one after the other", image: "busybox:1.37", argv: sh("echo a; true && exit 3"), code: 3},
		{name: "ends well", image: "busybox:1.37", argv: sh("nvidia-smi | grep x && sleep 5"), code: 0},
		{name: "goes on", image: "busybox:1.37", argv: sh("while true; do date; sleep 60; done"), code: ExitTerminated},
		{name: "unknown image", image: "example.org/serves:1", argv: []string{"serve"}, code: ExitTerminated, said: "not emulated"},
		{name: "the slice", image: cuda, argv: sh(`nvidia-smi -L | grep -F "MIG $PROFILE " || exit 1`), env: map[string]string{"PROFILE": "1g.12gb"}},
		{name: "another slice", image: cuda, argv: sh(`nvidia-smi -L | grep -F "MIG $PROFILE " || exit 1`), env: map[string]string{"PROFILE": "2g.24gb"}, code: 1, said: "no MIG 2g.24gb"},
		{name: "power", image: "debian:13", argv: sh(`nvidia-smi -pl "$WATTS"`), env: map[string]string{"WATTS": "280"}, code: ExitTerminated, said: "-> 280 W"},
		{name: "an unknown strategy", image: "k8s-device-plugin:v0.17.4", env: map[string]string{"DEVICE_LIST_STRATEGY": "envvars"}, code: 1, said: "invalid --device-list-strategy option: invalid strategy: envvars"},
		{name: "a plugin without NVML", image: "k8s-device-plugin:v0.17.4", bare: true, code: 1, said: "could not load NVML library"},
		{name: "a server without its card", image: "vllm/vllm-openai:v0.11.0", bare: true, code: 1, said: "Failed to infer device type"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		rule, _ := RuleOf(Rules(), test.image)
		said := &bytes.Buffer{}
		c := &Container{Pod: &corev1.Pod{}, Spec: &corev1.Container{Image: test.image, Command: test.argv}, Machine: machine{state: test.state}, Env: test.env, Output: said, Root: t.TempDir()}
		if c.Argv = rule.CommandOf(c.Spec); !test.bare {
			c.GPUs, c.Libraries = []gpu.Card{card}, true
		}
		if code := rule.Run(ctx, c); code != test.code || !strings.Contains(said.String(), test.said) {
			t.Errorf("%s: exit %d, want %d; output %s", test.name, code, test.code, said)
		}
		cancel()
	}
}

func TestMarkersAreKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &Container{Spec: &corev1.Container{}, Machine: machine{state: healthy}, Env: map[string]string{"MARKERS": "driver-ready"}, Output: &bytes.Buffer{}, Root: t.TempDir(),
		Read: func(path string) ([]byte, error) { return []byte("of " + path), nil }, Ready: cancel}
	keepMarkers(ctx, c, Rule{})
	if text, err := os.ReadFile(c.Marker("driver-ready")); err != nil || string(text) != "of /markers/driver-ready" {
		t.Errorf("%q, %v", text, err)
	}
}

// inSlices returns H100 cards with the named MIG profiles. A card with nil has no MIG devices.
func inSlices(profiles ...[]string) []gpu.Card {
	cards := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{{Model: "H100 NVL", Count: len(profiles), ComputeCapability: "9.0"}}})
	for i, names := range profiles {
		for index, name := range names {
			cards[i].Slices = append(cards[i].Slices, gpu.Slice{Index: index, Profile: name, UUID: fmt.Sprintf("MIG-%d-%d", i, index)})
		}
	}
	return cards
}

// offerOf reads an Offer from a configuration file and environment variables.
func offerOf(text string, env map[string]string) (Offer, error) {
	if env == nil {
		env = map[string]string{}
	}
	env["CONFIG_FILE"] = "/config/config.yaml"
	return OfferOf(&Container{Pod: &corev1.Pod{}, Env: env, Read: func(string) ([]byte, error) { return []byte(text), nil }})
}

func TestOfferedDevices(t *testing.T) {
	const slicing = "{version: v1, sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 3}]}}}"
	small, two, balanced := []string{"1g.12gb"}, []string{"1g.12gb", "1g.12gb"}, []string{"3g.47gb", "1g.12gb+me"}
	for _, test := range []struct {
		name, config, mig string
		cards             []gpu.Card
		want              string // resources with the number of devices, or the error
	}{
		{"whole cards", "", "single", inSlices(nil, nil), "nvidia.com/gpu=2"},
		{"single", "", "single", inSlices(two, two), "nvidia.com/gpu=4"},
		{"mixed", "", "mixed", inSlices(balanced, small), "nvidia.com/mig-1g.12gb.me=1 nvidia.com/mig-1g.12gb=1 nvidia.com/mig-3g.47gb=1"},
		{"mixed, one card whole", "", "mixed", inSlices(small, nil), "nvidia.com/gpu=1 nvidia.com/mig-1g.12gb=1"},
		{"none", "", "none", inSlices(two, nil), "nvidia.com/gpu=2"},
		{"time slicing of MIG devices", slicing, "single", inSlices(two), "nvidia.com/gpu.shared=6"},
		{"another version", "version: v2", "", nil, "unknown version: v2"},
	} {
		offer, err := offerOf(test.config, map[string]string{"MIG_STRATEGY": test.mig})
		var got []string
		if err == nil {
			resources := offer.devices(test.cards)
			for _, name := range slices.Sorted(maps.Keys(resources)) {
				got = append(got, fmt.Sprintf("%s=%d", name, len(resources[name])))
			}
		}
		if slices.Sort(got); err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); !strings.Contains(text, test.want) || err == nil && text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}

func TestAllocate(t *testing.T) {
	plain, _ := offerOf("", nil)
	if got, err := plain.allocate(wholeCard, []string{"MIG-0-1"}); err != nil || !slices.Equal(got.Devices, []string{"MIG-0-1"}) || got.ByCDI {
		t.Errorf("a MIG device: %v, %v", got, err)
	}
	const slicing = "{version: v1, sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: [{name: nvidia.com/gpu, replicas: 4}]}}}"
	shared, _ := offerOf(slicing, map[string]string{"DEVICE_LIST_STRATEGY": "cdi-annotations,cdi-cri"})
	if got, err := shared.allocate(wholeCard, []string{"GPU-x::2"}); err != nil || !slices.Equal(got.Devices, []string{"GPU-x"}) || !got.ByCDI {
		t.Errorf("one replica of a shared card: %+v, %v", got, err)
	}
	if _, err := shared.allocate(wholeCard, []string{"GPU-x::0", "GPU-x::1"}); err == nil || !strings.Contains(err.Error(), "maximum request size for shared resources is 1; found 2") {
		t.Errorf("two replicas of a shared card: %v", err)
	}
}
