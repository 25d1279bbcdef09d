// Package gpu lists a machine's cards in the order of NVIDIA's driver, with their names and their MIG devices.
package gpu

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
)

// Card is a card of a machine, or the part of a card that a container has.
type Card struct {
	host.GPU
	Index int // the index that nvidia-smi shows
	// UUID is the card's name in nvidia-smi and in the device plugin. The lab derives it from machine and index.
	UUID   string
	Slices []Slice // the card's MIG devices, in nvidia-smi's order
}

// Slice is a MIG device: a GPU instance with one compute instance.
type Slice struct {
	// Index is the MIG device's index on its card.
	Index int `json:"index"`
	// UUID is the name in nvidia-smi and in the device plugin: MIG-….
	UUID string `json:"uuid"`
	// Profile is the MIG profile, e.g. 1g.12gb+me.
	Profile string `json:"profile"`
}

// Unsplit lists the cards of a machine one by one, without MIG devices.
func Unsplit(machine string, s host.Snapshot) (cards []Card) {
	for index, kind := range nvidia.Each(s.GPUs) {
		cards = append(cards, Card{
			GPU:   kind,
			Index: index,
			UUID:  "GPU-" + host.Identifier(machine, fmt.Sprintf("gpu-%d", index)),
		})
	}
	return cards
}

// Select returns the cards that NVIDIA_VISIBLE_DEVICES names: all, or a list of indices of cards and UUIDs of cards and
// MIG devices.
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

// split has the MIG devices by boot ID and card UUID. A boot ID is in the key because a reboot removes MIG devices
// (NVIDIA MIG user guide, "Enable MIG Mode"; k8s-device-plugin#225).
var (
	splitMutex sync.Mutex
	split      = map[string]map[string][]Slice{}
)

// Cards lists the cards of a machine one by one, with their present MIG devices.
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

// Split replaces a card's MIG devices. Without profiles the card is not partitioned. Larger MIG devices come first, in
// the order of mig-parted.
func Split(m host.Machine, card Card, profiles map[string]int) {
	splitMutex.Lock()
	defer splitMutex.Unlock()
	boot := m.Snapshot().BootID
	if split[boot] == nil {
		split[boot] = map[string][]Slice{}
	}
	var made []Slice
	largestFirst := func(a, b string) int { return 10*(slicesOf(b)-slicesOf(a)) + strings.Compare(a, b) }
	for _, name := range slices.SortedFunc(maps.Keys(profiles), largestFirst) {
		for range profiles[name] {
			what := fmt.Sprintf("mig-%d-%d-%s", card.Index, len(made), name)
			made = append(made, Slice{Index: len(made), UUID: "MIG-" + host.Identifier(m.Key(), what), Profile: name})
		}
	}
	split[boot][card.UUID] = made
}

// slicesOf returns the number of compute slices of a profile: 2 for 2g.24gb.
func slicesOf(profile string) int {
	number, _, _ := strings.Cut(profile, "g.")
	count, _ := strconv.Atoi(number)
	return count
}

var geForce = regexp.MustCompile(`^(RTX [2-5]0\d0|GTX )`)

// ProductName returns the name that the driver reports, e.g. NVIDIA GeForce RTX 5070 Ti, NVIDIA H100 NVL.
func (c Card) ProductName() string {
	switch {
	case strings.HasPrefix(c.Model, "NVIDIA "):
		return c.Model
	case geForce.MatchString(c.Model):
		return "NVIDIA GeForce " + c.Model
	}
	return "NVIDIA " + c.Model
}

// Brand returns the brand of a card in the words of go-nvlib (v0.12.0 pkg/nvlib/device/device.go, GetBrandAsString).
func (c Card) Brand() string {
	switch name := c.ProductName(); {
	case strings.Contains(name, "GeForce"):
		return "GeForce"
	case strings.HasPrefix(name, "NVIDIA RTX"):
		return "NvidiaRTX"
	}
	return "Nvidia"
}

// BusID returns the card's PCI address, which the lab derives from the index.
func (c Card) BusID() string { return nvidia.BusID(c.Index) }

// newestCUDA is the newest CUDA version of a driver branch, as nvidia-smi shows it.
var newestCUDA = map[string]string{
	"470": "11.4", "525": "12.0", "535": "12.2", "550": "12.4", "560": "12.6", "565": "12.7", "570": "12.8", "575": "12.9",
	"580": "13.0", "590": "13.1", "595": "13.2", "610": "13.3",
}

// CUDAVersion returns the CUDA version of a driver, e.g. 12.8, or "" for an unknown branch.
func CUDAVersion(driver string) string {
	branch, _, _ := strings.Cut(driver, ".")
	return newestCUDA[branch]
}
