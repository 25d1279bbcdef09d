package nfd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// WorkerConfig is the PCI part of nfd-worker.conf. Defaults: node-feature-discovery docs, "Worker configuration file".
type WorkerConfig struct {
	Sources struct {
		PCI struct {
			DeviceClassWhitelist []string `json:"deviceClassWhitelist"`
			DeviceLabelFields    []string `json:"deviceLabelFields"`
		} `json:"pci"`
	} `json:"sources"`
}

const workerConfigFile = "/etc/kubernetes/node-feature-discovery/nfd-worker.conf"

func readWorkerConfig(c *programs.Container) WorkerConfig {
	config := WorkerConfig{}
	if text, err := c.Read(cmp.Or(c.Argument("-config"), workerConfigFile)); err == nil {
		_ = yaml.Unmarshal(text, &config)
	}
	if len(config.Sources.PCI.DeviceClassWhitelist) == 0 {
		config.Sources.PCI.DeviceClassWhitelist = []string{"03", "0b40", "12"}
	}
	if len(config.Sources.PCI.DeviceLabelFields) == 0 {
		config.Sources.PCI.DeviceLabelFields = []string{"class", "vendor"}
	}
	return config
}

// DiscoverNode is what a worker finds on a machine. A release that begins with v, as Talos' do, is not split into major and minor
// (source/system/system.go, splitVersion).
func DiscoverNode(s host.Snapshot, config WorkerConfig) map[string]string {
	labels := map[string]string{
		nodelabels.FeaturePrefix + "system-os_release.ID":         "talos",
		nodelabels.FeaturePrefix + "system-os_release.VERSION_ID": s.TalosVersion,
		nodelabels.FeaturePrefix + "cpu-model.vendor_id":          "Intel",
		nodelabels.FeaturePrefix + "cpu-cpuid.AVX2":               "true",
		nodelabels.FeaturePrefix + "kernel-config.NO_HZ":          "true",
	}
	for _, card := range s.GPUs {
		class, vendor, found := strings.Cut(card.PCIDevice, "_")
		if !found || !listed(config.Sources.PCI.DeviceClassWhitelist, class) {
			continue
		}
		var fields []string
		for _, field := range config.Sources.PCI.DeviceLabelFields {
			switch field {
			case "class":
				fields = append(fields, class)
			case "vendor":
				fields = append(fields, vendor)
			}
		}
		labels[nodelabels.FeaturePrefix+"pci-"+strings.Join(fields, "_")+".present"] = "true"
	}
	return labels
}

// listed: the whitelist holds classes or their beginnings.
func listed(whitelist []string, class string) bool {
	for _, prefix := range whitelist {
		if strings.HasPrefix(class, strings.ToLower(prefix)) {
			return true
		}
	}
	return false
}

// Worker reports a machine's features, now and when the machine changes.
func (o *Discovery) Worker(ctx context.Context, c *programs.Container) int {
	config := readWorkerConfig(c)
	if c.Machine.Clock().Sleep(ctx, 2*time.Second) != nil {
		return 143
	}
	c.Logf("feature discovery sources configured; starting on node %s", c.Machine.Name())
	go health(ctx, c)
	for range c.Machine.Watch(ctx) {
		if err := o.Tell(ctx, c, c.Machine.Name(), DiscoverNode(c.Machine.Snapshot(), config)); err != nil && ctx.Err() == nil {
			c.Logf("failed to advertise features: %v", err)
			return 1
		}
	}
	return 143
}
