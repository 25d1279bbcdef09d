package operator

import (
	"strconv"
	"strings"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
)

const wholeCard = "nvidia.com/gpu"

// resourceLabels are GPU feature discovery's for the resources of a node: whole cards, and MIG devices by the strategy
// (k8s-device-plugin v0.20.0 internal/lm/mig-strategy.go, resource.go). Of the attributes of a MIG device those that its
// profile tells: memory, multiprocessors and engines are not emulated.
func resourceLabels(cards []gpu.Card, sharing programs.Offer) map[string]string {
	model, labels := cards[0].ProductName(), map[string]string{}
	whole, empty, profiles := 0, false, map[string]int{}
	for _, card := range cards {
		if !card.Split {
			whole++
		} else if len(card.Slices) == 0 {
			empty = true
		}
		for _, slice := range card.Slices {
			profiles[slice.Profile]++
		}
	}
	if whole > 0 {
		base(labels, wholeCard, len(cards), sharing, model)
	} else { // cards that are split are labelled without sharing
		base(labels, wholeCard, len(cards), programs.Offer{}, model)
		labels[wholeCard+".replicas"] = "0"
	}
	if sharing.Flags.MIGStrategy != "single" && sharing.Flags.MIGStrategy != "mixed" {
		return labels
	}
	labels["nvidia.com/mig.strategy"] = sharing.Flags.MIGStrategy
	if sharing.Flags.MIGStrategy == "mixed" {
		for profile, count := range profiles {
			device(labels, "nvidia.com/mig-"+profile, profile, count, programs.Offer{Replicas: 1}, model)
		}
		return labels
	}
	if whole == len(cards) {
		return labels
	}
	if empty || whole > 0 || len(profiles) != 1 {
		labels[wholeCard+".product"] = joined(model, "MIG", "INVALID")
		labels[wholeCard+".count"], labels[wholeCard+".replicas"] = "0", "0"
		labels[wholeCard+".memory"], labels[wholeCard+".sharing-strategy"] = "0", ""
		return labels
	}
	for profile, count := range profiles {
		device(labels, wholeCard, profile, count, sharing, model)
	}
	return labels
}

func base(labels map[string]string, resource string, count int, sharing programs.Offer, product ...string) {
	if sharing.Replicas > 1 && !sharing.Sharing.TimeSlicing.RenameByDefault {
		product = append(product, "SHARED")
	}
	strategy := "none"
	if sharing.Replicas > 1 {
		strategy = "time-slicing"
	}
	labels[resource+".product"], labels[resource+".count"] = joined(product...), strconv.Itoa(count)
	labels[resource+".replicas"], labels[resource+".sharing-strategy"] = strconv.Itoa(max(sharing.Replicas, 1)), strategy
}

// device labels a kind of MIG device.
func device(labels map[string]string, resource, profile string, count int, sharing programs.Offer, model string) {
	resource = strings.ReplaceAll(resource, "+", ".")
	base(labels, resource, count, sharing, model, "MIG", strings.ReplaceAll(profile, "+", "."))
	slices, _, _ := strings.Cut(profile, "g.")
	labels[resource+".slices.gi"], labels[resource+".slices.ci"] = slices, slices
}

func joined(parts ...string) string {
	return strings.ReplaceAll(strings.Join(parts, "-"), " ", "-")
}
