// Package gpu has a machine's cards as NVIDIA's driver counts them: their names, and how they are split into MIG devices.
package gpu

import (
	"fmt"
	"strconv"
	"strings"

	"talos-gpu/lab/machines/internal/host"
)

// Card is one card of a machine, or what of it a container has.
type Card struct {
	host.GPU
	// Index as nvidia-smi counts.
	Index int
	// UUID as nvidia-smi and the device plugin name the card. The lab derives it from machine and index.
	UUID string
	// Slices are the MIG devices of a card that is split, in nvidia-smi's order.
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

// Unsplit lists the cards of a machine one by one, none of them split.
func Unsplit(machine string, s host.Snapshot) []Card {
	var cards []Card
	for _, kind := range s.GPUs {
		for range max(kind.Count, 1) {
			index := len(cards)
			card := Card{GPU: kind, Index: index, UUID: "GPU-" + host.Identifier(machine, fmt.Sprintf("gpu-%d", index))}
			cards = append(cards, card)
		}
	}
	return cards
}

// Select understands NVIDIA_VISIBLE_DEVICES: all, or a list of indices and UUIDs of cards, and UUIDs of MIG devices.
func Select(cards []Card, visible string) ([]Card, error) {
	if visible == "all" {
		return cards, nil
	}
	var selected []Card
	for _, wanted := range strings.Split(visible, ",") {
		before := len(selected)
		for _, card := range cards {
			if card.UUID == wanted || strconv.Itoa(card.Index) == wanted {
				selected = append(selected, card)
			}
			for _, slice := range card.Slices {
				if slice.UUID == wanted {
					card.Slices = []Slice{slice}
					selected = append(selected, card)
				}
			}
		}
		if len(selected) == before {
			return nil, fmt.Errorf("%s: unknown device", wanted)
		}
	}
	return selected, nil
}
