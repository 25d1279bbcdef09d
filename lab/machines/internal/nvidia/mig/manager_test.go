package mig

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
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
		if labels[nodelabels.MIGState] != test.state || !slices.Equal(s.slices(), test.slices) || !strings.Contains(s.log.text(), test.said) {
			t.Errorf("%s: %s, %q; log:\n%s", test.name, labels[nodelabels.MIGState], s.slices(), s.log.text())
		}
	}
}

func TestMIGDevicesEndWithTheBoot(t *testing.T) {
	s := newStand(t, h100(), "v0.12.3", "all-7g.94gb")
	s.run(t)
	s.machine.reboot()
	if cards := gpu.Cards(s.machine); cards[0].Split || len(cards[0].Slices) > 0 {
		t.Errorf("after a reboot: %+v", cards[0])
	}
	if labels, _ := s.run(t); labels[nodelabels.MIGState] != "success" || !slices.Equal(s.slices(), []string{"7g.94gb", "7g.94gb"}) {
		t.Errorf("the manager splits again: %v, %q", labels[nodelabels.MIGState], s.slices())
	}
	ampere := h100()
	ampere.MIG.ModeNeedsReset = true
	s = newStand(t, ampere, "v0.12.3", "all-7g.94gb")
	s.run(t)
	s.machine.reboot()
	if labels, _ := s.run(t); labels[nodelabels.MIGState] != "success" || !slices.Equal(s.slices(), []string{"7g.94gb", "7g.94gb"}) {
		t.Errorf("Ampere keeps the mode: %v, %q", labels[nodelabels.MIGState], s.slices())
	}
}

func TestMIGManagerOnTalos(t *testing.T) {
	s := newStand(t, h100(), "v0.13.1", "all-1g.12gb")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	New(s.client).Run(ctx, s.container)
	if text := s.log.text(); text != "Updating to MIG config: all-1g.12gb\nError: context deadline exceeded\n" {
		t.Errorf("a manager that waits for systemd: %s", text)
	}
	s = newStand(t, h100(), "v0.12.3", "all-1g.12gb")
	s.container.Env["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] = "true"
	if labels, _ := s.run(t); labels[nodelabels.MIGState] != "failed" || !strings.Contains(s.log.text(), "nvidia-mig-parted’: No such file") {
		t.Errorf("one that goes to the host: %v", labels)
	}
	s = newStand(t, h100(), "v0.12.3", "all-1g.12gb")
	delete(s.container.Env, "CONFIG_FILE")
	if _, code := s.run(t); code != 1 {
		t.Errorf("an old manager needs its file: %d", code)
	}
	s = newStand(t, h100(), "v0.12.3", "all-1g.12gb")
	s.container.Devices.Register(devices.Plugin{Resource: "nvidia.com/gpu", Devices: []string{"GPU-x"},
		Allocate: func([]string) (devices.Allocation, error) { return devices.Allocation{}, nil }})
	limits := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: limits}}}}}
	if _, err := s.container.Devices.Admit(pod); err != nil {
		t.Fatal(err)
	}
	if labels, _ := s.run(t); labels[nodelabels.MIGState] != "failed" || !strings.Contains(s.log.text(), "In use by another client") {
		t.Errorf("a card in use: %v", labels)
	}
}
