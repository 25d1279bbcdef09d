package gpu

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"talos-gpu/lab/machines/internal/host"
)

// split are the MIG devices of a boot, by its ID and the card's UUID: they are gone with the boot (NVIDIA MIG user guide, "Enable MIG Mode";
// k8s-device-plugin#225).
var (
	splitMutex sync.Mutex
	split      = map[string]map[string][]Slice{}
)

// Cards lists the cards of a machine one by one, as they are split now.
func Cards(m host.Machine) []Card {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	s := m.Snapshot()
	cards := Unsplit(m.Key(), s)
	for i := range cards {
		cards[i].Slices = split[s.BootID][cards[i].UUID]
	}
	return cards
}

// Split replaces a card's MIG devices; without profiles the card is whole. The larger ones come first, as mig-parted makes them.
func Split(m host.Machine, card Card, profiles map[string]int) {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	boot := m.Snapshot().BootID
	if split[boot] == nil {
		split[boot] = map[string][]Slice{}
	}
	var made []Slice
	for _, name := range slices.SortedFunc(maps.Keys(profiles), func(a, b string) int { return 10*(slicesOf(b)-slicesOf(a)) + strings.Compare(a, b) }) {
		for range profiles[name] {
			what := fmt.Sprintf("mig-%d-%d-%s", card.Index, len(made), name)
			made = append(made, Slice{Index: len(made), UUID: "MIG-" + host.Identifier(m.Key(), what), Profile: name})
		}
	}
	split[boot][card.UUID] = made
}

// slicesOf a profile: 2g.24gb has two.
func slicesOf(profile string) int {
	number, _, _ := strings.Cut(profile, "g.")
	count, _ := strconv.Atoi(number)
	return count
}
