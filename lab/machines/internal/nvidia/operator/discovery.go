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

// Discover is gpu-feature-discovery, of the device plugin's image: it needs NVML, and hands its labels to NFD.
func (o *Operator) Discover(ctx context.Context, c *programs.Container) int {
	cards := c.GPUs
	if c.SeesNVML() && len(cards) == 0 {
		cards = gpu.Cards(c.Machine)
	}
	if len(cards) == 0 {
		c.Logf("NVML not detected: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
		return c.Fails("error creating label source: invalid device discovery strategy")
	}
	if c.Machine.Clock().Sleep(ctx, 3*time.Second) != nil {
		return programs.ExitTerminated
	}
	offer, err := programs.OfferOf(c)
	if err != nil {
		return c.Fails("%v", err)
	}
	labels := gpuLabels(c.Machine.Snapshot(), cards, offer)
	labels["nvidia.com/gfd.timestamp"] = strconv.FormatInt(time.Now().Unix(), 10)
	// As the real one names it (k8s-device-plugin internal/lm/output.go).
	if err := o.nfd.Tell(ctx, c, "nvidia-features-for-"+c.Machine.Name(), labels); err != nil {
		return c.Fails("error creating or updating NodeFeature object: %v", err)
	}
	c.Logf("Creating Labels\nSleeping for 60 seconds")
	return c.Rests(ctx)
}

// families of GPU feature discovery by the first compute capability of each (k8s-device-plugin internal/lm/resource.go, getArchFamily).
var families = []struct{ from, name string }{
	{"10.0", "blackwell"}, {"9.0", "hopper"}, {"8.9", "ada-lovelace"}, {"8.0", "ampere"}, {"7.5", "turing"}, {"7.0", "volta"}, {"6.0", "pascal"}, {"5.0", "maxwell"}, {"0", "undefined"},
}

// gpuLabels are GPU feature discovery's (k8s-device-plugin docs/gpu-feature-discovery, "Generated Labels"). Memory is in
// MiB, a bare number. A display class (0300) is a graphics card, a 3D controller (0302) computes.
func gpuLabels(s host.Snapshot, cards []gpu.Card, offer programs.Offer) map[string]string {
	card := cards[0]
	family := slices.IndexFunc(families, func(each struct{ from, name string }) bool {
		return programs.Compare(card.ComputeCapability, each.from) >= 0
	})
	cc := strings.SplitN(card.ComputeCapability+".", ".", 3)
	driver := strings.SplitN(s.DriverVersion+"..", ".", 4)
	cuda := strings.SplitN(gpu.CUDAVersion(s.DriverVersion)+".", ".", 3)
	mode := "compute"
	if strings.HasPrefix(card.PCIDevice, "0300") {
		mode = "graphics"
	}
	capable := slices.ContainsFunc(cards, func(card gpu.Card) bool { return card.MIG != nil })
	labels := map[string]string{nodelabels.MIGCapable: fmt.Sprint(capable)}
	for name, value := range map[string]string{
		"gpu.memory": strconv.Itoa(card.MemoryMiB), "gpu.family": families[max(family, 0)].name, "gpu.compute.major": cc[0], "gpu.compute.minor": cc[1],
		"gpu.machine": "Lab-Machine", "gpu.mode": mode, "vgpu.present": "false", "mps.capable": "false",
		"cuda.driver-version.full": s.DriverVersion, "cuda.driver-version.major": driver[0], "cuda.driver-version.minor": driver[1], "cuda.driver-version.revision": driver[2],
		"cuda.driver.major": driver[0], "cuda.driver.minor": driver[1], "cuda.driver.rev": driver[2],
		"cuda.runtime-version.full": gpu.CUDAVersion(s.DriverVersion), "cuda.runtime-version.major": cuda[0], "cuda.runtime-version.minor": cuda[1],
		"cuda.runtime.major": cuda[0], "cuda.runtime.minor": cuda[1],
	} {
		labels["nvidia.com/"+name] = value
	}
	maps.Copy(labels, resourceLabels(cards, offer))
	return labels
}

const wholeCard = "nvidia.com/gpu"

// resourceLabels are those of the resources of a node: whole cards, and MIG devices by the strategy (k8s-device-plugin v0.20.0
// internal/lm/mig-strategy.go, resource.go). Of the attributes of a MIG device those that its profile tells.
func resourceLabels(cards []gpu.Card, offer programs.Offer) map[string]string {
	labels, strategy, whole, profiles := map[string]string{}, offer.Flags.MIGStrategy, 0, map[string]int{}
	for _, card := range cards {
		if !card.Split {
			whole++
		}
		for _, slice := range card.Slices {
			profiles[slice.Profile]++
		}
	}
	// label says what a resource is a part of; what is split is labelled without sharing.
	label := func(resource string, count, replicas int, product ...string) {
		sharing := "none"
		if replicas > 1 {
			sharing = "time-slicing"
			if !offer.Sharing.TimeSlicing.RenameByDefault {
				product = append(product, "SHARED")
			}
		}
		labels[resource+".product"] = strings.ReplaceAll(strings.Join(append([]string{cards[0].ProductName()}, product...), "-"), " ", "-")
		labels[resource+".count"], labels[resource+".replicas"], labels[resource+".sharing-strategy"] = strconv.Itoa(count), strconv.Itoa(max(replicas, 1)), sharing
	}
	device := func(resource, profile string, count, replicas int) {
		profile = strings.ReplaceAll(profile, "+", ".")
		label(resource, count, replicas, "MIG", profile)
		slices, _, _ := strings.Cut(profile, "g.")
		labels[resource+".slices.gi"], labels[resource+".slices.ci"] = slices, slices
	}
	if label(wholeCard, len(cards), offer.Replicas); whole == 0 {
		label(wholeCard, len(cards), 1)
		labels[wholeCard+".replicas"] = "0"
	}
	if strategy == "single" || strategy == "mixed" {
		labels["nvidia.com/mig.strategy"] = strategy
	}
	for profile, count := range profiles {
		switch {
		case strategy == "mixed":
			device("nvidia.com/mig-"+strings.ReplaceAll(profile, "+", "."), profile, count, 1)
		case strategy == "single" && whole == 0 && len(profiles) == 1:
			device(wholeCard, profile, count, offer.Replicas)
		case strategy == "single": // cards that are not all split alike
			label(wholeCard, 0, 1, "MIG", "INVALID")
			labels[wholeCard+".replicas"] = "0"
		}
	}
	return labels
}
