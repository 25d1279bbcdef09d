package kubelet

import (
	"crypto/sha256"
	"fmt"

	"talos-gpu/lab/machines/internal/host"
)

// GPU is one card of a machine.
type GPU struct {
	host.GPU
	// Index as nvidia-smi counts.
	Index int
	// UUID as nvidia-smi and the device plugin name the card. The lab derives it from machine and index.
	UUID string
}

// GPUsOf lists the cards of a machine one by one.
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
