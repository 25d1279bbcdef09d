package mig

import (
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// migEntries is one configuration of mig-parted (api/spec/v1/spec.go): the first entry that fits a card counts.
type migEntries []migEntry

type migEntry struct {
	// DeviceFilter holds PCI identifiers, which the lab's cards do not have: entries with one are refused.
	DeviceFilter any            `json:"device-filter"`
	Devices      any            `json:"devices"` // all, or a list of indices
	MIGEnabled   bool           `json:"mig-enabled"`
	MIGDevices   map[string]int `json:"mig-devices"`
}

// of a card: whether its mode is on, and its devices.
func (e migEntries) of(card gpu.Card) (on bool, devices map[string]int) {
	for _, entry := range e {
		if entry.fits(card) {
			return entry.MIGEnabled, entry.MIGDevices
		}
	}
	return card.Split, profilesOf(card)
}

func (e migEntry) fits(card gpu.Card) bool {
	list, isList := e.Devices.([]any)
	if !isList {
		return e.Devices == "all" && (e.MIGEnabled || card.MIG != nil)
	}
	for _, index := range list {
		if fmt.Sprint(index) == fmt.Sprint(card.Index) {
			return true
		}
	}
	return false
}

// migConfigs reads a file. To the operator's own list, which has no profile here, those of the cards are added: all-balanced,
// and every profile with the most devices of it, as the real list and the generated one have them (mig-parted
// deployments/systemd/config-default.yaml, pkg/mig/builder).
func migConfigs(text string, cards []gpu.Card) (map[string]migEntries, error) {
	file := struct {
		Version string                `json:"version"`
		Configs map[string]migEntries `json:"mig-configs"`
	}{}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return nil, fmt.Errorf("error parsing config file: unmarshal error: %w", err)
	}
	for name, entries := range file.Configs {
		for _, entry := range entries {
			if entry.DeviceFilter != nil {
				return nil, fmt.Errorf("lab: %s: device-filter is not emulated", name)
			}
		}
	}
	if text != Defaults {
		return file.Configs, nil
	}
	add := func(name string, card gpu.Card, devices map[string]int) {
		file.Configs[name] = append(file.Configs[name], migEntry{Devices: []any{card.Index}, MIGEnabled: true, MIGDevices: devices})
	}
	for _, card := range cards {
		if card.MIG == nil {
			continue
		}
		if len(card.MIG.Balanced) > 0 {
			add("all-balanced", card, card.MIG.Balanced)
		}
		most := 0
		for _, count := range card.MIG.Profiles {
			most = max(most, count)
		}
		for profile, count := range card.MIG.Profiles {
			add("all-"+profile, card, map[string]int{profile: count})
			if count == most {
				add("all-"+profile+".me", card, map[string]int{profile + "+me": 1})
			}
		}
	}
	return file.Configs, nil
}

// profilesOf a card as it is split.
func profilesOf(card gpu.Card) map[string]int {
	devices := map[string]int{}
	for _, slice := range card.Slices {
		devices[slice.Profile]++
	}
	return devices
}

func sameSlices(card gpu.Card, devices map[string]int) bool {
	return maps.Equal(profilesOf(card), devices)
}

// Defaults stands for the operator's list of configurations. The real one names the profiles of all cards; here the MIG
// manager adds those of its machine's cards, which the lab is told of.
const Defaults = `version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  all-enabled: [{devices: all, mig-enabled: true, mig-devices: {}}]
`
