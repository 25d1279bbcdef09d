package deviceplugin

import (
	"fmt"
	"strconv"
	"strings"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// wholeCard is the resource of a whole card, and of a MIG device with the strategy single.
const wholeCard = "nvidia.com/gpu"

// device that the plugin offers.
type device struct {
	// id is its UUID; of a shared one UUID::0, UUID::1, … (internal/rm: AnnotatedID).
	id string
	// index of a card, or 0:1 of a MIG device.
	index string
	// slice says that it is a MIG device.
	slice bool
}

// deviceMap are the devices of every resource (k8s-device-plugin v0.17 to v0.20, internal/rm/device_map.go).
func deviceMap(wanted offer, cards []gpu.Card) (map[string][]device, error) {
	whole, split := map[string][]device{}, map[string][]device{}
	for _, card := range cards {
		if !card.Split || wanted.mig == "none" {
			whole[wholeCard] = append(whole[wholeCard], device{id: card.UUID, index: strconv.Itoa(card.Index)})
			continue
		}
		for _, slice := range card.Slices {
			name := wholeCard
			if wanted.mig == "mixed" {
				name = "nvidia.com/mig-" + strings.ReplaceAll(slice.Profile, "+", ".")
			}
			split[name] = append(split[name], device{id: slice.UUID, index: fmt.Sprintf("%d:%d", card.Index, slice.Index), slice: true})
		}
	}
	if wanted.mig == "single" {
		if err := uniform(cards); err != nil {
			return nil, err
		}
	}
	all := whole
	for name, list := range split {
		all[name] = append(all[name], list...)
	}
	if shared := all[wholeCard]; wanted.replicas > 1 && len(shared) > 0 {
		delete(all, wholeCard)
		all[wholeCard+wanted.suffix] = replicated(shared, wanted.replicas)
	}
	return all, nil
}

// uniform is what the strategy single asks of a node: no card split or all, each into devices, and all devices alike.
func uniform(cards []gpu.Card) error {
	profile, some, others := "", false, false
	for _, card := range cards {
		if !card.Split {
			others = true
			continue
		}
		some = true
		if len(card.Slices) == 0 {
			return fmt.Errorf("invalid MIG configuration: at least one device with migEnabled=true was not configured correctly: error visiting device: device %d has no MIG devices configured", card.Index)
		}
		for _, slice := range card.Slices {
			if profile != "" && slice.Profile != profile {
				return fmt.Errorf("invalid MIG configuration: more than one MIG device type present on node")
			}
			profile = slice.Profile
		}
	}
	if some && others {
		return fmt.Errorf("all devices on the node must be configured with the same migEnabled value")
	}
	return nil
}

func replicated(list []device, replicas int) []device {
	var shared []device
	for replica := range replicas {
		for _, each := range list {
			shared = append(shared, device{id: each.id + "::" + strconv.Itoa(replica), index: each.index, slice: each.slice})
		}
	}
	return shared
}

func identifiers(list []device) []string {
	ids := make([]string, 0, len(list))
	for _, each := range list {
		ids = append(ids, each.id)
	}
	return ids
}
