package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet"
	"talos-gpu/lab/machines/internal/node/kubelet/rules/deviceplugin"
)

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
		sharing deviceplugin.Sharing
		want    map[string]string
	}{
		{"single, not split", cards(), deviceplugin.Sharing{Replicas: 1, MIG: "single"}, map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.count": "2", "nvidia.com/mig.strategy": "single"}},
		{"single", cards("1g.12gb", "1g.12gb"), deviceplugin.Sharing{Replicas: 1, MIG: "single"}, map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-1g.12gb", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.slices.gi": "1"}},
		{"single, unlike", cards("1g.12gb", "2g.24gb"), deviceplugin.Sharing{Replicas: 1, MIG: "single"}, map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-INVALID", "nvidia.com/gpu.count": "0"}},
		{"mixed", cards("3g.47gb", "1g.12gb+me"), deviceplugin.Sharing{Replicas: 1, MIG: "mixed"}, map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.replicas": "0", "nvidia.com/mig-3g.47gb.count": "2",
			"nvidia.com/mig-1g.12gb.me.product": "NVIDIA-H100-NVL-MIG-1g.12gb.me", "nvidia.com/mig-3g.47gb.slices.ci": "3"}},
		{"MPS", cards(), deviceplugin.Sharing{Replicas: 4, MPS: true, MIG: "none"}, map[string]string{
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
