package mig

import (
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// entries is one configuration of mig-parted (api/spec/v1/spec.go): the first entry that fits a card counts.
type entries []struct {
	Devices    any            `json:"devices"` // all, or a list of indices
	MIGEnabled bool           `json:"mig-enabled"`
	MIGDevices map[string]int `json:"mig-devices"`
}

// of a card: whether its mode is on, and its devices.
func (e entries) of(card gpu.Card) (on bool, devices map[string]int) {
	for _, entry := range e {
		fits := entry.Devices == "all" && (entry.MIGEnabled || card.MIG != nil)
		if list, isList := entry.Devices.([]any); isList {
			for _, index := range list {
				fits = fits || fmt.Sprint(index) == fmt.Sprint(card.Index)
			}
		}
		if fits {
			return entry.MIGEnabled, entry.MIGDevices
		}
	}
	return card.Split, profilesOf(card)
}

// Defaults stands for the operator's list of configurations. The real one names the profiles of all cards; here the MIG
// manager adds those of its machine's cards, which the lab is told of.
const Defaults = `version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  all-enabled: [{devices: all, mig-enabled: true, mig-devices: {}}]
`

// configOf is what a file says under a name. Defaults are given what the real list and the generated one have for the machine's cards:
// all-balanced, and every profile with the most devices of it (mig-parted deployments/systemd/config-default.yaml, pkg/mig/builder).
func configOf(text []byte, name string, cards []gpu.Card) (entries, error) {
	file := struct {
		Configs map[string]entries `json:"mig-configs"`
	}{}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("error parsing config file: unmarshal error: %w", err)
	}
	config, known := file.Configs[name]
	for _, card := range cards {
		if string(text) != Defaults || card.MIG == nil {
			continue
		}
		add := func(as string, devices map[string]int) {
			if name == as {
				known, config = true, append(config, entries{{Devices: []any{card.Index}, MIGEnabled: true, MIGDevices: devices}}...)
			}
		}
		most := 0
		for _, count := range card.MIG.Profiles {
			most = max(most, count)
		}
		for profile, count := range card.MIG.Profiles {
			if add("all-"+profile, map[string]int{profile: count}); count == most {
				add("all-"+profile+".me", map[string]int{profile + "+me": 1})
			}
		}
		if len(card.MIG.Balanced) > 0 {
			add("all-balanced", card.MIG.Balanced)
		}
	}
	if !known {
		return nil, fmt.Errorf("error selecting configuration: selected mig-config not present: %s", name)
	}
	return config, nil
}

// profilesOf a card as it is split.
func profilesOf(card gpu.Card) map[string]int {
	devices := map[string]int{}
	for _, slice := range card.Slices {
		devices[slice.Profile]++
	}
	return devices
}

// applied says that every card is as the configuration says.
func (e entries) applied(cards []gpu.Card) bool {
	for _, card := range cards {
		if on, devices := e.of(card); card.Split != on || !maps.Equal(profilesOf(card), devices) {
			return false
		}
	}
	return true
}
