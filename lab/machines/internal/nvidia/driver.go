// Package nvidia emulates NVIDIA's extensions on a machine: which modules load, and which files then exist. Here every
// card accepts every driver, because the package's checks decide which driver a card needs.
package nvidia

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"talos-gpu/lab/machines/internal/host"
)

// Driver is the state of NVIDIA's driver on a machine after its modules were loaded.
type Driver struct {
	Modules []string // loaded modules, sorted
	Version string   // of the loaded kernel modules, or ""
	Open    bool     // whether they are the open modules
	// LibraryVersion is the version of the user-space libraries, which come with the toolkit, or "" without it.
	LibraryVersion string
	Messages       []string // what the kernel logs
}

// ours has the modules of a kmod extension, and for each the modules that must load first.
var ours = map[string][]string{
	"nvidia":         nil,
	"nvidia_uvm":     {"nvidia"},
	"nvidia_modeset": {"nvidia"},
	"nvidia_drm":     {"nvidia", "nvidia_modeset"},
	"nvidia_peermem": {"nvidia"},
	"nvidia_fs":      {"nvidia"},
}

// Load loads the modules that a configuration declares. The extensions blacklist their modules (nvidia.conf in
// siderolabs/extensions nvidia-gpu). So only declared modules load, and the modules that they need.
func Load(extensions []host.Extension, declared []string, gpus []host.GPU) Driver {
	driver, modules, open := Driver{}, "", false
	for _, extension := range extensions {
		version, _, _ := strings.Cut(extension.Version, "-")
		switch {
		case strings.HasPrefix(extension.Name, "nvidia-open-gpu-kernel-modules-"):
			modules, open = version, true
		case strings.HasPrefix(extension.Name, "nonfree-kmod-nvidia-"):
			modules = version
		case strings.HasPrefix(extension.Name, "nvidia-container-toolkit-"):
			driver.LibraryVersion = version
		}
	}
	wanted := closure(declared)
	switch {
	case modules == "":
		for _, name := range wanted {
			driver.Messages = append(driver.Messages, fmt.Sprintf("error loading module %q: module not found", name))
		}
	case len(wanted) > 0 && len(gpus) == 0:
		driver.Messages = []string{"NVRM: No NVIDIA GPU found.", `error loading module "nvidia": no such device`}
	case len(wanted) > 0:
		driver.Modules, driver.Version, driver.Open = wanted, modules, open
	}
	return driver
}

// closure returns the declared NVIDIA modules and those that they need, sorted. A declaration may have dashes or
// underscores.
func closure(declared []string) (names []string) {
	for _, name := range declared {
		name = strings.ReplaceAll(name, "-", "_")
		if needs, ok := ours[name]; ok {
			names = append(append(names, needs...), name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Each returns every card of a machine, in the order of the indices.
func Each(gpus []host.GPU) (all []host.GPU) {
	for _, gpu := range gpus {
		for range max(gpu.Count, 1) {
			all = append(all, gpu)
		}
	}
	return all
}

// WriteFiles writes the files of /proc below root that show the driver.
func WriteFiles(root string, driver Driver, gpus []host.GPU) error {
	if err := os.RemoveAll(filepath.Join(root, "proc/driver/nvidia")); err != nil {
		return err
	}
	loaded := "" // name, size, references, users, state, address, taint (proc_modules(5))
	for _, name := range driver.Modules {
		loaded += name + " 16384 0 - Live 0x0000000000000000 (O)\n"
	}
	files := map[string]string{"/proc/modules": loaded}
	if driver.Version != "" {
		kind := "x86_64 Kernel Module"
		if driver.Open {
			kind = "Open Kernel Module for x86_64"
		}
		files["/proc/driver/nvidia/version"] = "NVRM version: NVIDIA UNIX " + kind + "  " + driver.Version + "  Release Build  (@buildkitsandbox)\nGCC version:  \n"
		for index, gpu := range Each(gpus) {
			files["/proc/driver/nvidia/gpus/"+BusID(index)+"/information"] = fmt.Sprintf(
				"Model: \t\t NVIDIA %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\n", gpu.Model, BusID(index), index)
		}
	}
	for path, content := range files {
		if err := WriteFile(root, path, content); err != nil {
			return err
		}
	}
	return nil
}

// BusID returns the PCI address of the card with an index.
func BusID(index int) string { return fmt.Sprintf("0000:%02x:00.0", 0x40+index) }

// WriteFile writes a file of a machine.
func WriteFile(root, path, content string) error {
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}
