package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// families of GPU feature discovery (k8s-device-plugin internal/lm/resource.go, getArchFamily).
func family(capability string) string {
	major, minor, _ := strings.Cut(capability, ".")
	switch major {
	case "5":
		return "maxwell"
	case "6":
		return "pascal"
	case "7":
		if minor < "5" {
			return "volta"
		}
		return "turing"
	case "8":
		if minor < "9" {
			return "ampere"
		}
		return "ada-lovelace"
	case "9":
		return "hopper"
	case "10", "11", "12":
		return "blackwell"
	}
	return "undefined"
}

// gpuLabels are GPU feature discovery's (k8s-device-plugin docs/gpu-feature-discovery, "Generated Labels"). Memory is in
// MiB, a bare number.
func gpuLabels(s host.Snapshot, cards []gpu.Card, sharing programs.Offer) map[string]string {
	card := cards[0]
	label := func(name string) string { return "nvidia.com/" + name }
	cc := strings.SplitN(card.ComputeCapability+".", ".", 3)
	driver := strings.SplitN(s.DriverVersion+"..", ".", 4)
	cuda := strings.SplitN(gpu.CUDAVersion(s.DriverVersion)+".", ".", 3)
	labels := map[string]string{
		label("gpu.memory"): strconv.Itoa(card.MemoryMiB), label("gpu.family"): family(card.ComputeCapability),
		label("gpu.compute.major"): cc[0], label("gpu.compute.minor"): cc[1], label("gpu.machine"): "Lab-Machine", label("gpu.mode"): mode(card),
		label("cuda.driver-version.full"):  s.DriverVersion,
		label("cuda.driver-version.major"): driver[0], label("cuda.driver-version.minor"): driver[1], label("cuda.driver-version.revision"): driver[2],
		label("cuda.driver.major"): driver[0], label("cuda.driver.minor"): driver[1], label("cuda.driver.rev"): driver[2],
		label("cuda.runtime-version.full"): gpu.CUDAVersion(s.DriverVersion), label("cuda.runtime-version.major"): cuda[0], label("cuda.runtime-version.minor"): cuda[1],
		label("cuda.runtime.major"): cuda[0], label("cuda.runtime.minor"): cuda[1],
		nodelabels.MIGCapable: fmt.Sprint(slices.ContainsFunc(cards, func(card gpu.Card) bool { return card.MIG != nil })), nodelabels.MPSCapable: "false",
		label("vgpu.present"): "false",
	}
	maps.Copy(labels, resourceLabels(cards, sharing))
	return labels
}

// mode: a display class (0300) is a graphics card, a 3D controller (0302) computes.
func mode(card gpu.Card) string {
	if strings.HasPrefix(card.PCIDevice, "0300") {
		return "graphics"
	}
	return "compute"
}

// Discover is gpu-feature-discovery: it needs NVML, and hands its labels to NFD.
func (o *Operator) Discover(ctx context.Context, c *programs.Container) int {
	snapshot := c.Machine.Snapshot()
	cards := c.GPUs
	if c.SeesNVML() && len(cards) == 0 {
		cards = gpu.Cards(c.Machine)
	}
	if len(cards) == 0 {
		c.Logf("NVML not detected: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
		c.Logf("error creating label source: invalid device discovery strategy")
		return 1
	}
	if c.Machine.Clock().Sleep(ctx, 3*time.Second) != nil {
		return 143
	}
	sharing, err := programs.OfferOf(c)
	if err != nil {
		c.Logf("%v", err)
		return 1
	}
	labels := gpuLabels(snapshot, cards, sharing)
	labels["nvidia.com/gfd.timestamp"] = strconv.FormatInt(time.Now().Unix(), 10)
	// As the real one names it (k8s-device-plugin internal/lm/output.go).
	if err := o.nfd.Tell(ctx, c, "nvidia-features-for-"+c.Machine.Name(), labels); err != nil {
		c.Logf("error creating or updating NodeFeature object: %v", err)
		return 1
	}
	c.Logf("Creating Labels\nSleeping for 60 seconds")
	return c.Rests(ctx)
}
