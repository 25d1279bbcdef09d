package programs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// wholeCard is the resource of a whole card. With the strategy single it is also the resource of a MIG device.
const wholeCard = "nvidia.com/gpu"

// Offer is the plugin's configuration (k8s-device-plugin api/config/v1). It has only the fields that stacks set.
type Offer struct {
	Version string `json:"version"`
	Flags   struct {
		MIGStrategy string `json:"migStrategy"`
		Plugin      struct {
			DeviceListStrategy any `json:"deviceListStrategy"`
		} `json:"plugin"`
	} `json:"flags"`
	Sharing struct {
		TimeSlicing struct {
			RenameByDefault            bool `json:"renameByDefault"`
			FailRequestsGreaterThanOne bool `json:"failRequestsGreaterThanOne"`
			Resources                  []struct {
				Name     string `json:"name"`
				Replicas int    `json:"replicas"`
			} `json:"resources"`
		} `json:"timeSlicing"`
	} `json:"sharing"`
	// Replicas is the number of replicas of each card: 1 if it is not shared.
	Replicas int  `json:"-"`
	byCDI    bool // whether containers get their devices only by CDI
}

// OfferOf reads the configuration of a container of the device plugin's image. Environment variables override the file,
// because they set flags (cmd/nvidia-device-plugin/main.go).
func OfferOf(c *Container) (Offer, error) {
	offer := Offer{Version: "v1", Replicas: 1}
	text, err := configuration(c)
	if err == nil {
		err = yaml.Unmarshal(text, &offer)
	}
	if err == nil && offer.Version != "v1" {
		err = fmt.Errorf("unable to parse config file: unknown version: %s", offer.Version)
	}
	if said := c.Env["MIG_STRATEGY"]; said != "" {
		offer.Flags.MIGStrategy = said
	}
	list := c.Env["DEVICE_LIST_STRATEGY"]
	if said := offer.Flags.Plugin.DeviceListStrategy; list == "" && said != nil {
		list = strings.Join(strings.Fields(strings.Trim(fmt.Sprint(said), "[]")), ",")
	}
	offer.byCDI = list != ""
	for _, strategy := range strings.Split(cmp.Or(list, "envvar"), ",") {
		if !slices.Contains([]string{"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"}, strategy) {
			err = errors.Join(err, fmt.Errorf("invalid --device-list-strategy option: invalid strategy: %s", strategy))
		}
		offer.byCDI = offer.byCDI && strings.HasPrefix(strategy, "cdi-")
	}
	for _, resource := range offer.Sharing.TimeSlicing.Resources {
		if resource.Name == wholeCard {
			offer.Replicas = resource.Replicas
		}
	}
	return offer, err
}

// configuration returns the file of --config-file or CONFIG_FILE. In reality the config manager, another container of
// the pod, copies this file from the folder that mounts the ConfigMap (cmd/config-manager). On an emulated node nothing
// copies it, so the file is read from that folder. The node label that may name another entry is ignored.
func configuration(c *Container) ([]byte, error) {
	file := c.Argument("--config-file")
	if file == "" {
		file = c.Env["CONFIG_FILE"]
	}
	if file == "" {
		return nil, nil
	}
	folder, entry := filepath.Split(file)
	for _, container := range c.Pod.Spec.InitContainers {
		for _, variable := range container.Env {
			switch variable.Name {
			case "CONFIG_FILE_SRCDIR":
				folder = variable.Value
			case "DEFAULT_CONFIG":
				entry = variable.Value
			}
		}
	}
	return c.Read(filepath.Join(folder, entry))
}

// configManager exits at once if it is an init container.
func configManager(ctx context.Context, c *Container) int {
	if c.Env["ONESHOT"] == "true" {
		return 0
	}
	return c.Rests(ctx)
}

// devicePlugin is cmd/nvidia-device-plugin. It reads its options, opens NVML, and registers its resources with the
// kubelet until it stops. Without libraries it fails, unless FAIL_ON_INIT_ERROR is false (k8s-device-plugin#478, #1220,
// #1371). The real node tests the CDI specification that the plugin writes.
func devicePlugin(ctx context.Context, c *Container) int {
	offer, err := OfferOf(c)
	if err != nil {
		return c.Fails("%v", err)
	}
	if !c.SeesNVML() {
		c.Logf("NVML not detected: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
		c.Logf("If this is a GPU node, did you configure the NVIDIA Container Toolkit?")
		if c.Env["FAIL_ON_INIT_ERROR"] == "false" {
			c.Logf("No devices found. Waiting indefinitely.")
			return c.Rests(ctx)
		}
		return c.Fails("error starting plugins: error getting plugins: unable to create plugins: failed to construct resource managers: invalid device discovery strategy")
	}
	if c.Machine.Clock().Sleep(ctx, 2*time.Second) != nil {
		return ExitTerminated
	}
	resources := offer.devices(gpu.Cards(c.Machine))
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		allocate := func(chosen []string) (devices.Allocation, error) { return offer.allocate(name, chosen) }
		defer c.Devices.Register(devices.Plugin{Resource: name, Devices: resources[name], Allocate: allocate})()
		c.Logf("Registered device plugin for '%s' with Kubelet", name)
		c.Machine.Event("device plugin offers %d x %s", len(resources[name]), name)
	}
	return c.Rests(ctx)
}

// devices returns the devices of every resource, by UUID. The devices of a shared card are UUID::0, UUID::1, …
// (k8s-device-plugin v0.17 to v0.20, internal/rm/device_map.go).
func (o Offer) devices(cards []gpu.Card) map[string][]string {
	all := map[string][]string{}
	for _, card := range cards {
		if len(card.Slices) == 0 || o.Flags.MIGStrategy != "single" && o.Flags.MIGStrategy != "mixed" {
			all[wholeCard] = append(all[wholeCard], card.UUID)
			continue
		}
		for _, slice := range card.Slices {
			name := wholeCard
			if o.Flags.MIGStrategy == "mixed" {
				name = "nvidia.com/mig-" + strings.ReplaceAll(slice.Profile, "+", ".")
			}
			all[name] = append(all[name], slice.UUID)
		}
	}
	if units := all[wholeCard]; o.Replicas > 1 && len(units) > 0 {
		delete(all, wholeCard)
		name := wholeCard
		if o.Sharing.TimeSlicing.RenameByDefault {
			name += ".shared"
		}
		for replica := range o.Replicas {
			for _, unit := range units {
				all[name] = append(all[name], unit+"::"+strconv.Itoa(replica))
			}
		}
	}
	return all
}

// allocate returns the devices of a container, without duplicates (internal/plugin/server.go).
func (o Offer) allocate(resource string, chosen []string) (devices.Allocation, error) {
	if o.Replicas > 1 && o.Sharing.TimeSlicing.FailRequestsGreaterThanOne && len(chosen) > 1 {
		return devices.Allocation{}, fmt.Errorf("invalid allocation request for %q: invalid request: maximum request size for shared resources is 1; found %d", resource, len(chosen))
	}
	var ids []string
	for _, name := range chosen {
		id, _, _ := strings.Cut(name, "::")
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return devices.Allocation{Devices: slices.Compact(ids), ByCDI: o.byCDI}, nil
}
