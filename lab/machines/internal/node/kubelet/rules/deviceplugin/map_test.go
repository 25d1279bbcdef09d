package deviceplugin

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// inSlices are H100 cards, each split into what is named; nil is a card that is not split.
func inSlices(profiles ...[]string) []gpu.Card {
	cards := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{{Model: "H100 NVL", Count: len(profiles), ComputeCapability: "9.0"}}})
	for i, names := range profiles {
		cards[i].Split = names != nil
		for index, name := range names {
			cards[i].Slices = append(cards[i].Slices, gpu.Slice{Index: index, Profile: name, UUID: fmt.Sprintf("MIG-%d-%d", i, index)})
		}
	}
	return cards
}

func TestDeviceMap(t *testing.T) {
	small, two, balanced := []string{"1g.12gb"}, []string{"1g.12gb", "1g.12gb"}, []string{"3g.47gb", "1g.12gb+me"}
	for _, test := range []struct {
		name   string
		wanted offer
		cards  []gpu.Card
		want   string // resources with the number of devices, or the error
	}{
		{"whole cards", offer{replicas: 1, mig: "single"}, inSlices(nil, nil), "nvidia.com/gpu=2"},
		{"single", offer{replicas: 1, mig: "single"}, inSlices(two, two), "nvidia.com/gpu=4"},
		{"mixed", offer{replicas: 1, mig: "mixed"}, inSlices(balanced, small), "nvidia.com/mig-1g.12gb.me=1 nvidia.com/mig-1g.12gb=1 nvidia.com/mig-3g.47gb=1"},
		{"mixed, one card whole", offer{replicas: 1, mig: "mixed"}, inSlices(small, nil), "nvidia.com/gpu=1 nvidia.com/mig-1g.12gb=1"},
		{"none", offer{replicas: 1, mig: "none"}, inSlices(two, nil), "nvidia.com/gpu=2"},
		{"single, unlike", offer{replicas: 1, mig: "single"}, inSlices(balanced, balanced), "more than one MIG device type present on node"},
		{"single, empty", offer{replicas: 1, mig: "single"}, inSlices(two, []string{}), "device 1 has no MIG devices configured"},
		{"single, one card whole", offer{replicas: 1, mig: "single"}, inSlices(two, nil), "must be configured with the same migEnabled value"},
		{"time slicing of MIG devices", offer{replicas: 3, mig: "single", suffix: ".shared"}, inSlices(two), "nvidia.com/gpu.shared=6"},
	} {
		resources, err := deviceMap(test.wanted, test.cards)
		var got []string
		for _, name := range slices.Sorted(maps.Keys(resources)) {
			got = append(got, fmt.Sprintf("%s=%d", name, len(resources[name])))
		}
		slices.Sort(got)
		if text := strings.Join(got, " ") + errorText(err); !strings.Contains(text, test.want) || err == nil && text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}

func TestAllocate(t *testing.T) {
	cards := inSlices([]string{"1g.12gb", "1g.12gb"})
	list := func(wanted offer) []device {
		resources, err := deviceMap(wanted, cards)
		if err != nil {
			t.Fatal(err)
		}
		return resources[wholeCard]
	}
	plain := offer{replicas: 1, mig: "single", strategies: []string{"envvar"}}
	if got, err := allocate(plain, wholeCard, list(plain), []string{"MIG-0-1"}); err != nil || got.Env["NVIDIA_VISIBLE_DEVICES"] != "MIG-0-1" {
		t.Errorf("a MIG device: %v, %v", got, err)
	}
	indexed := offer{replicas: 1, mig: "single", strategies: []string{"envvar"}, byIndex: true}
	if got, err := allocate(indexed, wholeCard, list(indexed), []string{"MIG-0-1"}); err != nil || got.Env["NVIDIA_VISIBLE_DEVICES"] != "0:1" {
		t.Errorf("by index: %v, %v", got, err)
	}
	cards = inSlices(nil)
	shared := offer{replicas: 4, onlyOne: true, strategies: []string{"cdi-cri"}}
	got, err := allocate(shared, wholeCard, list(shared), []string{cards[0].UUID + "::2"})
	if err != nil || len(got.CDI) != 1 {
		t.Errorf("one of a shared card: %+v, %v", got, err)
	}
	_, err = allocate(shared, wholeCard, list(shared), []string{cards[0].UUID + "::0", cards[0].UUID + "::1"})
	if text := errorText(err); !strings.Contains(text, "maximum request size for shared resources is 1; found 2") {
		t.Errorf("two of a shared card: %s", text)
	}
}

// shared is a machine with one card.
type shared struct {
	host.Machine
	root string
}

func (m *shared) Name() string   { return "gpu-1" }
func (m *shared) Key() string    { return "gpu-1" }
func (m *shared) RootFS() string { return m.root }
func (m *shared) Snapshot() host.Snapshot {
	return host.Snapshot{GPUs: []host.GPU{{Model: "RTX 3090", Count: 1, ComputeCapability: "8.6"}}}
}

func TestCDISpecification(t *testing.T) {
	machine := &shared{root: t.TempDir()}
	for _, test := range []struct {
		name, strategy, root string // of the machine, mounted at /driver-root; "" for none
		env                  map[string]string
		refused, noDevice    string
	}{
		{name: "envvar needs none", strategy: "envvar"},
		{name: "none mounted", strategy: "cdi-cri", refused: "failed to get libcuda.so parent path: failed to locate libcuda.so"},
		{name: "the host's", strategy: "cdi-annotations", root: "/", env: map[string]string{"NVIDIA_DRIVER_ROOT": "/"}},
		{name: "below it are no devices", strategy: "cdi-cri", root: "/usr/local", env: map[string]string{"NVIDIA_DRIVER_ROOT": "/usr/local"}, noDevice: "/usr/local/dev/nvidia-uvm"},
		{name: "as the operator gives it", strategy: "cdi-cri", root: "/usr/local", env: map[string]string{"NVIDIA_DRIVER_ROOT": "/usr/local", "NVIDIA_DEV_ROOT": "/"}},
	} {
		mounts := map[string]string{}
		if test.root != "" {
			mounts[driverRoot] = machine.root + test.root
		}
		wanted := offer{strategies: []string{test.strategy}}
		err := cdiSpecification(&cri.Container{Machine: machine, Output: io.Discard, Env: test.env, Paths: cri.PathsOf(mounts)}, &wanted)
		if text := errorText(err); !strings.Contains(text, test.refused) || (test.refused == "") != (err == nil) || wanted.noDevice != test.noDevice {
			t.Errorf("%s: %v, device %q", test.name, err, wanted.noDevice)
		}
	}
}
