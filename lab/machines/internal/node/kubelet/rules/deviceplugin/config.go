package deviceplugin

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
)

// pluginConfig is the part of the device plugin's configuration that the lab honours (k8s-device-plugin api/config/v1).
type pluginConfig struct {
	Version string `json:"version"`
	Flags   struct {
		FailOnInitError *bool   `json:"failOnInitError"`
		MIGStrategy     *string `json:"migStrategy"`
		Plugin          struct {
			DeviceListStrategy any     `json:"deviceListStrategy"`
			DeviceIDStrategy   *string `json:"deviceIDStrategy"`
		} `json:"plugin"`
	} `json:"flags"`
	Sharing struct {
		TimeSlicing *sharing `json:"timeSlicing"`
	} `json:"sharing"`
}

type sharing struct {
	RenameByDefault            bool `json:"renameByDefault"`
	FailRequestsGreaterThanOne bool `json:"failRequestsGreaterThanOne"`
	Resources                  []struct {
		Name     string `json:"name"`
		Replicas int    `json:"replicas"`
	} `json:"resources"`
}

// offer is what the plugin registers for a node's cards.
type offer struct {
	// suffix of the names of shared resources.
	suffix     string
	replicas   int
	mig        string // none, single, mixed
	strategies []string
	byIndex    bool
	onlyOne    bool // a request for more than one is refused
	// containerd says that containerd honours the CDI annotations: their prefix is its own, cdi.k8s.io/.
	containerd bool
	// noDevice is a device node that the CDI specification names and the machine has not; "" for none.
	noDevice string
}

// strategies the plugin knows (api/config/v1/consts.go).
var strategies = []string{"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"}

// parsePluginConfig reads the configuration file, "" for none. Environment beats the file, as flags do (cmd/nvidia-device-plugin/main.go).
func parsePluginConfig(text string, env map[string]string) (offer, error) {
	var config pluginConfig
	if text != "" {
		if err := yaml.Unmarshal([]byte(text), &config); err != nil {
			return offer{}, fmt.Errorf("unable to parse config file: %w", err)
		}
		if config.Version != "v1" {
			return offer{}, fmt.Errorf("unable to parse config file: unknown version: %s", config.Version)
		}
	}
	wanted := offer{replicas: 1, mig: "none"}
	if strategy := config.Flags.MIGStrategy; strategy != nil {
		wanted.mig = *strategy
	}
	if strategy := env["MIG_STRATEGY"]; strategy != "" {
		wanted.mig = strategy
	}
	if !slices.Contains([]string{"none", "single", "mixed"}, wanted.mig) {
		return offer{}, fmt.Errorf("unknown MIG strategy: %s", wanted.mig)
	}
	prefix := env["CDI_ANNOTATION_PREFIX"]
	wanted.containerd = prefix == "" || prefix == "cdi.k8s.io/"
	list := env["DEVICE_LIST_STRATEGY"]
	if list == "" {
		list = strings.Join(texts(config.Flags.Plugin.DeviceListStrategy), ",")
	}
	if list == "" {
		list = "envvar"
	}
	for _, strategy := range strings.Split(list, ",") {
		if !slices.Contains(strategies, strategy) {
			return offer{}, fmt.Errorf("invalid --device-list-strategy option: invalid strategy: %s", strategy)
		}
		wanted.strategies = append(wanted.strategies, strategy)
	}
	wanted.byIndex = env["DEVICE_ID_STRATEGY"] == "index" ||
		env["DEVICE_ID_STRATEGY"] == "" && config.Flags.Plugin.DeviceIDStrategy != nil && *config.Flags.Plugin.DeviceIDStrategy == "index"
	return share(wanted, config.Sharing.TimeSlicing)
}

// share applies sharing of nvidia.com/gpu (api/config/v1/config.go).
func share(wanted offer, shared *sharing) (offer, error) {
	if shared == nil {
		return wanted, nil
	}
	for _, resource := range shared.Resources {
		if resource.Name != "nvidia.com/gpu" {
			continue
		}
		if resource.Replicas < 2 {
			return offer{}, fmt.Errorf("number of replicas must be >= 2")
		}
		wanted.replicas = resource.Replicas
		wanted.onlyOne = shared.FailRequestsGreaterThanOne
		if shared.RenameByDefault {
			wanted.suffix = ".shared"
		}
	}
	return wanted, nil
}

func texts(value any) []string {
	switch value := value.(type) {
	case string:
		return strings.Split(value, ",")
	case []any:
		var list []string
		for _, item := range value {
			list = append(list, fmt.Sprint(item))
		}
		return list
	}
	return nil
}

// Sharing of a node's cards, as GPU feature discovery labels it.
type Sharing struct {
	Replicas int
	Renamed  bool
	// MIG strategy.
	MIG string
}

// SharingOf reads the configuration file of a container of the device plugin's image.
func SharingOf(c *cri.Container) (Sharing, error) {
	text, err := configFile(c)
	if err != nil {
		return Sharing{}, err
	}
	wanted, err := parsePluginConfig(text, c.Env)
	return Sharing{Replicas: wanted.replicas, Renamed: wanted.suffix != "", MIG: wanted.mig}, err
}
