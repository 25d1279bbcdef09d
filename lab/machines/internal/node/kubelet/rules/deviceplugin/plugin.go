// Package deviceplugin is what runs in the image of NVIDIA's device plugin: the plugin and its config manager.
package deviceplugin

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/kubelet/version"
)

// Run is k8s-device-plugin's cmd/nvidia-device-plugin: options, NVML, then the resource at the kubelet until it stops.
func Run(ctx context.Context, c *cri.Container) int {
	c.Logf("Starting NVIDIA Device Plugin version=%s", version.OfImage(c.Spec.Image))
	text, err := configFile(c)
	if err != nil {
		c.Logf("%v", err)
		return 1
	}
	wanted, err := parsePluginConfig(text, c.Env)
	if err != nil {
		c.Logf("%v", err)
		return 1
	}
	c.Logf("Starting Plugins.\nLoading configuration.\nRetrieving plugins.")
	if !SeesNVML(c) {
		return noNVML(ctx, c)
	}
	c.Logf("Detected NVML platform: found NVML library")
	resources, err := deviceMap(wanted, visibleCards(c))
	if err != nil {
		c.Logf("error starting plugins: error getting plugins: unable to create plugins: failed to construct resource managers: error building device map: %v", err)
		return 1
	}
	if err := cdiSpecification(c, &wanted); err != nil {
		c.Logf("error starting plugins: error getting plugins: unable to create cdi spec file: %v", err)
		return 1
	}
	if c.Machine.Clock().Sleep(ctx, 2*time.Second) != nil {
		return 143
	}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		list := resources[name]
		defer c.Devices.Register(devices.Plugin{
			Resource: name,
			Devices:  identifiers(list),
			Allocate: func(chosen []string) (devices.Allocation, error) { return allocate(wanted, name, list, chosen) },
		})()
		c.Logf("Registered device plugin for '%s' with Kubelet", name)
		c.Machine.Event("device plugin offers %d x %s", len(list), name)
	}
	<-ctx.Done()
	return 143
}

// driverRoot is where the plugin looks for the driver that its CDI specification names (--driver-root-ctr-path).
const driverRoot = "/driver-root"

// cdiSpecification is what the plugin writes before it starts (cmd/nvidia-device-plugin/plugin-manager.go, CreateSpecFile). Without a driver root in the
// container it finds no library, and asks the cache of the linker there. Device nodes get the driver root's prefix, unless a root of their own is
// given; Talos has them in /dev alone. Both seen with plugin 0.19.3 on an H100 in the layout of Talos 1.13.
func cdiSpecification(c *cri.Container, wanted *offer) error {
	if !slices.ContainsFunc(wanted.strategies, func(name string) bool { return strings.HasPrefix(name, "cdi-") }) {
		return nil
	}
	if c.Paths.Resolve(driverRoot) == driverRoot {
		c.Logf("level=warning msg=\"Failed to load ldcache: open %s/etc/ld.so.cache: no such file or directory\"", driverRoot)
		library := "libcuda.so." + c.Machine.Snapshot().DriverVersion
		return fmt.Errorf("failed to get CDI spec: failed to create discoverer for common entities: failed to create discoverer for driver files: failed to get libcuda.so parent path: failed to locate libcuda.so: %s: not found", library)
	}
	root := c.Env["NVIDIA_DEV_ROOT"]
	if root == "" {
		root = c.Env["NVIDIA_DRIVER_ROOT"]
	}
	if root = filepath.Clean("/" + c.Paths.Restore(root)); root == "/usr/local" {
		wanted.noDevice = root + "/dev/nvidia-uvm"
	}
	return nil
}

// visibleCards are those that the runtime brought, or all where the plugin finds NVML by itself; as they are split.
func visibleCards(c *cri.Container) []gpu.Card {
	if len(c.GPUs) > 0 {
		return c.GPUs
	}
	return gpu.Cards(c.Machine)
}

// configFile is what CONFIG_FILE names, or --config-file.
func configFile(c *cri.Container) (string, error) {
	name := c.Env["CONFIG_FILE"]
	for i, argument := range c.Argv {
		if value, found := strings.CutPrefix(argument, "--config-file="); found {
			name = value
		} else if argument == "--config-file" && i+1 < len(c.Argv) {
			name = c.Argv[i+1]
		}
	}
	if name == "" {
		return "", nil
	}
	// A shell has already rewritten the variable to a path of this computer.
	if !strings.HasPrefix(name, c.Machine.RootFS()) {
		name = c.Paths.Resolve(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("unable to load config: unable to finalize config: error opening config file: %s: no such file or directory", c.Paths.Restore(name))
	}
	return string(text), nil
}

// SeesNVML says whether the container can use NVML: the runtime brought the libraries, or a driver root is mounted that has them where the plugin looks
// (k8s-device-plugin internal/lookup: the standard library folders under the container's driver root).
func SeesNVML(c *cri.Container) bool {
	if c.Libraries {
		return true
	}
	snapshot := c.Machine.Snapshot()
	if snapshot.Era != host.EraCDI || snapshot.DriverVersion == "" || snapshot.LibraryVersion != snapshot.DriverVersion {
		return false
	}
	root := filepath.Clean(c.Paths.Resolve(driverRoot))
	return root == filepath.Clean(c.Machine.RootFS()) || root == filepath.Join(c.Machine.RootFS(), "usr/local")
}

// noNVML is what the plugin says without libraries; with FAIL_ON_INIT_ERROR (default true) it ends (k8s-device-plugin#478,
// #1220, #1371).
func noNVML(ctx context.Context, c *cri.Container) int {
	c.Logf("NVML not detected: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
	c.Logf("Incompatible strategy detected auto")
	c.Logf("If this is a GPU node, did you configure the NVIDIA Container Toolkit?")
	c.Logf("You can check the prerequisites at: https://github.com/NVIDIA/k8s-device-plugin#prerequisites")
	if c.Env["FAIL_ON_INIT_ERROR"] == "false" {
		c.Logf("No devices found. Waiting indefinitely.")
		<-ctx.Done()
		return 143
	}
	c.Logf("error starting plugins: error getting plugins: unable to create plugins: failed to construct resource managers: invalid device discovery strategy")
	return 1
}

// allocate answers with every strategy of the list; with CDI strategies alone, nothing else names devices (internal/plugin/server.go).
func allocate(wanted offer, resource string, list []device, chosen []string) (devices.Allocation, error) {
	if wanted.onlyOne && len(chosen) > 1 {
		return devices.Allocation{}, fmt.Errorf("invalid allocation request for %q: invalid request: maximum request size for shared resources is 1; found %d", resource, len(chosen))
	}
	var ids []string
	allocation := devices.Allocation{Env: map[string]string{}}
	for _, name := range chosen {
		id, _, _ := strings.Cut(name, "::")
		if at := slices.IndexFunc(list, func(d device) bool { return d.id == name }); wanted.byIndex && at >= 0 {
			id = list[at].index
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, strategy := range wanted.strategies {
		switch strategy {
		case "envvar":
			allocation.Env["NVIDIA_VISIBLE_DEVICES"] = strings.Join(ids, ",")
		case "volume-mounts":
			allocation.Env["NVIDIA_VISIBLE_DEVICES"] = "/var/run/nvidia-container-devices"
			allocation.VolumeMounts = ids
		default:
			if strategy == "cdi-annotations" && !wanted.containerd {
				continue // for NVIDIA's runtime in mode cdi, which reads its own prefix; not emulated
			}
			allocation.NoDevice = wanted.noDevice
			if len(allocation.CDI) == 0 {
				for _, id := range ids {
					allocation.CDI = append(allocation.CDI, "k8s.device-plugin.nvidia.com/gpu="+id)
				}
			}
		}
	}
	return allocation, nil
}

// replace lets nobody see a file that is written in half.
func replace(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", content, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// ManageConfig copies the node's configuration to where the plugin reads it (cmd/config-manager): the ConfigMap's entry
// that DEFAULT_CONFIG names. The node label that may name another is not followed.
func ManageConfig(ctx context.Context, c *cri.Container) int {
	source, target := c.Paths.Resolve(c.Env["CONFIG_FILE_SRCDIR"]), c.Paths.Resolve(c.Env["CONFIG_FILE_DST"])
	entries, err := os.ReadDir(source)
	if err != nil {
		c.Logf("error reading %s: %v", c.Env["CONFIG_FILE_SRCDIR"], err)
		return 1
	}
	name := c.Env["DEFAULT_CONFIG"]
	if name == "" && len(entries) == 1 {
		name = entries[0].Name() // fallback strategy "single"
	}
	text, err := os.ReadFile(filepath.Join(source, name))
	if name == "" || err != nil {
		c.Logf("no config selected: DEFAULT_CONFIG is %q", name)
		text = nil
	}
	c.Logf("Updating to config: %s", name)
	if there, err := os.ReadFile(target); err == nil && bytes.Equal(there, text) {
		// Left alone, as the real one's symbolic link is (updateSymlink): others begin to read it at this very moment.
		c.Logf("Already configured. Skipping update...")
	} else if err := replace(target, text); err != nil {
		c.Logf("%v", err)
		return 1
	}
	if c.Env["ONESHOT"] == "true" {
		return 0
	}
	<-ctx.Done()
	return 143
}
