package kubelet

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
)

// GPU is one card of a machine, or what of it a container has.
type GPU struct {
	host.GPU
	// Index as nvidia-smi counts.
	Index int
	// UUID as nvidia-smi and the device plugin name the card. The lab derives it from machine and index.
	UUID string
	// Split says that the card's multi-instance mode is on.
	Split bool
	// Slices are the MIG devices of a card whose mode is on, in nvidia-smi's order.
	Slices []Slice
}

// Slice is a MIG device: a GPU instance with its one compute instance.
type Slice struct {
	// Index on its card.
	Index int `json:"index"`
	// UUID as nvidia-smi and the device plugin name it, MIG-….
	UUID string `json:"uuid"`
	// Profile, e.g. 1g.12gb+me.
	Profile string `json:"profile"`
}

// GPUsOf lists the cards of a machine one by one, none of them split.
func GPUsOf(machine string, s host.Snapshot) []GPU {
	var cards []GPU
	for _, kind := range s.GPUs {
		for range max(kind.Count, 1) {
			index := len(cards)
			card := GPU{GPU: kind, Index: index, UUID: "GPU-" + identifier(machine, fmt.Sprintf("gpu-%d", index))}
			cards = append(cards, card)
		}
	}
	return cards
}

// identifier is a UUID that stays the same for a machine from lab to lab.
func identifier(machine, what string) string {
	sum := sha256.Sum256([]byte(machine + "/" + what))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// selectGPUs understands NVIDIA_VISIBLE_DEVICES: all, or a list of indices and UUIDs of cards and of MIG devices (0:1 is the
// second MIG device of the first card).
func selectGPUs(cards []GPU, visible string) ([]GPU, error) {
	if visible == "all" {
		return cards, nil
	}
	var selected []GPU
	for _, wanted := range strings.Split(visible, ",") {
		chosen, found := pick(cards, wanted)
		if !found {
			return nil, fmt.Errorf("%s: unknown device", wanted)
		}
		at := slices.IndexFunc(selected, func(have GPU) bool { return have.UUID == chosen.UUID })
		if at < 0 {
			selected = append(selected, chosen)
			continue
		}
		for _, slice := range chosen.Slices {
			if !slices.Contains(selected[at].Slices, slice) {
				selected[at].Slices = append(selected[at].Slices, slice)
			}
		}
	}
	return selected, nil
}

// pick finds a card, or a card with one MIG device alone.
func pick(cards []GPU, wanted string) (GPU, bool) {
	for _, card := range cards {
		if card.UUID == wanted || strconv.Itoa(card.Index) == wanted {
			card.Slices = slices.Clone(card.Slices)
			return card, true
		}
		for _, slice := range card.Slices {
			if slice.UUID == wanted || fmt.Sprintf("%d:%d", card.Index, slice.Index) == wanted {
				card.Slices = []Slice{slice}
				return card, true
			}
		}
	}
	return GPU{}, false
}

// MayAdminister says that a container has CAP_SYS_ADMIN.
func MayAdminister(security *corev1.SecurityContext) bool {
	switch {
	case security == nil:
		return false
	case security.Privileged != nil && *security.Privileged:
		return true
	case security.Capabilities == nil:
		return false
	}
	return slices.Contains(security.Capabilities.Add, "SYS_ADMIN") || slices.Contains(security.Capabilities.Add, "ALL")
}
