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

// splitting is what a machine's driver knows of the multi-instance mode of its cards, by the cards' UUIDs.
type splitting struct {
	boot   string
	modes  map[string]bool
	slices map[string][]Slice
	// kept is the cards' own memory (InfoROM): where the mode needs a reset, it is kept there, and in force from the next time
	// that the driver loads.
	kept map[string]bool
}

var (
	splitMutex sync.Mutex
	split      = map[string]*splitting{} // by the machine's folder
)

// loaded is the driver's knowledge in this boot: MIG devices are gone with the one before, and on Hopper and newer cards the
// mode with them (NVIDIA MIG user guide, "Enable MIG Mode"; k8s-device-plugin#225).
func loaded(m host.Machine) *splitting {
	s, boot := split[m.RootFS()], m.Snapshot().BootID
	if s == nil {
		s = &splitting{kept: map[string]bool{}}
		split[m.RootFS()] = s
	}
	if s.modes == nil || s.boot != boot {
		s.boot, s.modes, s.slices = boot, maps.Clone(s.kept), map[string][]Slice{}
	}
	return s
}

// Cards lists the cards of a machine one by one, as they are split now.
func Cards(m host.Machine) []Card {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	cards, driver := Unsplit(m.Key(), m.Snapshot()), loaded(m)
	for i := range cards {
		cards[i].Split, cards[i].Slices = driver.modes[cards[i].UUID], driver.slices[cards[i].UUID]
	}
	return cards
}

// SetMIGMode turns a card's mode on or off and says whether it is in force. Where it needs a reset it stays pending: the
// persistence daemon, which Talos' extension runs, holds the card, and it cannot be reset (gpu-operator#118).
func SetMIGMode(m host.Machine, card Card, on bool) (inForce bool, err error) {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	if card.MIG == nil {
		return false, fmt.Errorf("error setting MIG mode: Not Supported")
	}
	driver := loaded(m)
	if card.MIG.ModeNeedsReset {
		driver.kept[card.UUID] = on
	} else {
		driver.modes[card.UUID] = on
	}
	if !driver.modes[card.UUID] {
		delete(driver.slices, card.UUID)
	}
	return driver.modes[card.UUID] == on, nil
}

// Split makes a card's MIG devices anew; its mode must be on. The larger ones come first, as mig-parted makes them.
func Split(m host.Machine, card Card, profiles map[string]int) error {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	driver := loaded(m)
	if !driver.modes[card.UUID] {
		return fmt.Errorf("error creating MIG devices: MIG mode of GPU %d is not enabled", card.Index)
	}
	if err := fits(card, profiles); err != nil {
		return err
	}
	names := slices.SortedFunc(maps.Keys(profiles), func(a, b string) int {
		return 10*(slicesOf(b)-slicesOf(a)) + strings.Compare(a, b)
	})
	var made []Slice
	for _, name := range names {
		for range profiles[name] {
			what := fmt.Sprintf("mig-%d-%d-%s", card.Index, len(made), name)
			made = append(made, Slice{Index: len(made), UUID: "MIG-" + host.Identifier(m.Key(), what), Profile: name})
		}
	}
	driver.slices[card.UUID] = made
	return nil
}

// fits says why a card cannot be split so. A card has as many slices as its largest profile, and one set of media engines.
func fits(card Card, profiles map[string]int) error {
	most, used, engines := 0, 0, 0
	for profile := range card.MIG.Profiles {
		most = max(most, slicesOf(profile))
	}
	for name, count := range profiles {
		base, attribute, _ := strings.Cut(name, "+")
		if card.MIG.Profiles[base] == 0 {
			return fmt.Errorf("error creating GPU instance for '%s': Not Supported", name)
		}
		if attribute != "" {
			engines += count
		}
		if count > card.MIG.Profiles[base] {
			used = most + 1
		}
		used += count * slicesOf(base)
	}
	if used > most || engines > 1 {
		return fmt.Errorf("error creating GPU instance: Insufficient Resources")
	}
	return nil
}

// slicesOf a profile: 2g.24gb has two.
func slicesOf(profile string) int {
	number, _, _ := strings.Cut(profile, "g.")
	count, _ := strconv.Atoi(number)
	return count
}
