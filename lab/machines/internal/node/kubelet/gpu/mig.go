package gpu

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"talos-gpu/lab/machines/internal/host"
)

// splitting is what a machine's driver knows of the multi-instance mode of its cards, by the cards' UUIDs.
type splitting struct {
	Modes  map[string]bool    `json:"modes"`
	Slices map[string][]Slice `json:"slices"`
}

// splitMutex guards the files of all machines: they are read and written seldom.
var splitMutex sync.Mutex

// driverFile is in /run, which every boot empties: MIG devices are gone with the driver, and on Hopper and newer cards the
// mode with them (NVIDIA MIG user guide, "Enable MIG Mode"; k8s-device-plugin#225).
func driverFile(m host.Machine) string { return filepath.Join(m.RootFS(), "run/nvidia-mig.json") }

// cardFile stands for the cards' own memory (InfoROM), beside the machine's file system: where the mode needs a reset, it is
// kept there, and in force from the next time that the driver loads.
func cardFile(m host.Machine) string {
	return filepath.Join(filepath.Dir(m.RootFS()), "nvidia-inforom.json")
}

func readSplitting(file string) splitting {
	s := splitting{}
	if text, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(text, &s)
	}
	if s.Modes == nil {
		s.Modes = map[string]bool{}
	}
	if s.Slices == nil {
		s.Slices = map[string][]Slice{}
	}
	return s
}

func (s splitting) write(file string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// Cards lists the cards of a machine one by one, as they are split now.
func Cards(m host.Machine) []Card {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	cards := Unsplit(m.Key(), m.Snapshot())
	driver := loaded(m, cards)
	for i := range cards {
		cards[i].Split, cards[i].Slices = driver.Modes[cards[i].UUID], driver.Slices[cards[i].UUID]
	}
	return cards
}

// loaded is the driver's knowledge; the modes that the cards keep come in when it is asked for the first time in a boot.
func loaded(m host.Machine, cards []Card) splitting {
	driver := readSplitting(driverFile(m))
	kept := readSplitting(cardFile(m))
	for _, card := range cards {
		if _, known := driver.Modes[card.UUID]; !known && card.MIG != nil && card.MIG.ModeNeedsReset {
			driver.Modes[card.UUID] = kept.Modes[card.UUID]
		}
	}
	return driver
}

// SetMIGMode turns a card's mode on or off and says whether it is in force. Where it needs a reset it stays pending: the
// persistence daemon, which Talos' extension runs, holds the card, and it cannot be reset (gpu-operator#118).
func SetMIGMode(m host.Machine, card Card, on bool) (inForce bool, err error) {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	if card.MIG == nil {
		return false, fmt.Errorf("error setting MIG mode: Not Supported")
	}
	driver := loaded(m, Unsplit(m.Key(), m.Snapshot()))
	if card.MIG.ModeNeedsReset {
		kept := readSplitting(cardFile(m))
		kept.Modes[card.UUID] = on
		if err := kept.write(cardFile(m)); err != nil {
			return false, err
		}
	} else {
		driver.Modes[card.UUID] = on
	}
	if !driver.Modes[card.UUID] {
		delete(driver.Slices, card.UUID)
	}
	return driver.Modes[card.UUID] == on, driver.write(driverFile(m))
}

// Split makes a card's MIG devices anew; its mode must be on. The larger ones come first, as mig-parted makes them.
func Split(m host.Machine, card Card, profiles map[string]int) error {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	driver := loaded(m, Unsplit(m.Key(), m.Snapshot()))
	if !driver.Modes[card.UUID] {
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
			index := len(made)
			what := fmt.Sprintf("mig-%d-%d-%s", card.Index, index, name)
			made = append(made, Slice{Index: index, UUID: "MIG-" + host.Identifier(m.Key(), what), Profile: name})
		}
	}
	driver.Slices[card.UUID] = made
	return driver.write(driverFile(m))
}

// fits says why a card cannot be split so. A card has as many slices as its largest profile, and one set of media engines.
func fits(card Card, profiles map[string]int) error {
	most, used, engines := 0, 0, 0
	if card.MIG != nil {
		for profile := range card.MIG.Profiles {
			most = max(most, slicesOf(profile))
		}
	}
	for name, count := range profiles {
		base, attribute, _ := strings.Cut(name, "+")
		if card.MIG == nil || card.MIG.Profiles[base] == 0 {
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
