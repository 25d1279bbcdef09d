package operator

import (
	"fmt"
	"slices"
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
)

var h100 = host.GPU{Model: "H100 NVL", Count: 2, ComputeCapability: "9.0", MIG: &host.MIG{}}

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
}

func by(strategy string) programs.Offer {
	offer := programs.Offer{Replicas: 1}
	offer.Flags.MIGStrategy = strategy
	return offer
}

func TestResourceLabels(t *testing.T) {
	cards := func(profiles ...string) []gpu.Card {
		list := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{h100}})
		for i := range list {
			list[i].Split = len(profiles) > 0
			for index, profile := range profiles {
				list[i].Slices = append(list[i].Slices, gpu.Slice{Index: index, UUID: fmt.Sprint(index), Profile: profile})
			}
		}
		return list
	}
	for _, test := range []struct {
		name    string
		cards   []gpu.Card
		sharing programs.Offer
		want    map[string]string
	}{
		{"single, not split", cards(), by("single"), map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.count": "2", "nvidia.com/mig.strategy": "single"}},
		{"single", cards("1g.12gb", "1g.12gb"), by("single"), map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-1g.12gb", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.slices.gi": "1"}},
		{"single, unlike", cards("1g.12gb", "2g.24gb"), by("single"), map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-INVALID", "nvidia.com/gpu.count": "0"}},
		{"mixed", cards("3g.47gb", "1g.12gb+me"), by("mixed"), map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.replicas": "0", "nvidia.com/mig-3g.47gb.count": "2",
			"nvidia.com/mig-1g.12gb.me.product": "NVIDIA-H100-NVL-MIG-1g.12gb.me", "nvidia.com/mig-3g.47gb.slices.ci": "3"}},
	} {
		labels := resourceLabels(test.cards, test.sharing)
		for key, want := range test.want {
			if labels[key] != want {
				t.Errorf("%s: %s=%q, want %q", test.name, key, labels[key], want)
			}
		}
	}
}
