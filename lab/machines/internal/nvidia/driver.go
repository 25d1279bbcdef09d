// Package nvidia decides what NVIDIA's extensions do on a machine: which modules load, and which files then exist. Whether a card takes a
// driver is the checks' to say; here every card takes every driver.
package nvidia

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"talos-gpu/lab/machines/internal/host"
)

// Driver is what of NVIDIA's driver is on a machine after its modules were loaded.
type Driver struct {
	Modules []string // Modules that are loaded, sorted
	Version string   // Version of the loaded kernel modules; "" when none is
	Open    bool     // Open says that they are the open ones
	// LibraryVersion of the user-space libraries, which come with the toolkit; "" without it.
	LibraryVersion string
	Messages       []string // what the kernel logs
}

// ours are the modules of a kmod extension, with what each needs loaded first.
var ours = map[string][]string{
	"nvidia":         nil,
	"nvidia_uvm":     {"nvidia"},
	"nvidia_modeset": {"nvidia"},
	"nvidia_drm":     {"nvidia", "nvidia_modeset"},
	"nvidia_peermem": {"nvidia"},
	"nvidia_fs":      {"nvidia"},
}

// Load loads the modules that a configuration declares. The extensions blacklist theirs (nvidia.conf in
// siderolabs/extensions nvidia-gpu), so that nothing loads that isn't declared, but for what a declared one needs.
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

// closure is the declared modules that are ours with those that they need, sorted. A module is declared with dashes or
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

// Each card of a machine, by its index.
func Each(gpus []host.GPU) (all []host.GPU) {
	for _, gpu := range gpus {
		for range max(gpu.Count, 1) {
			all = append(all, gpu)
		}
	}
	return all
}

// WriteFiles makes /proc below root show the driver.
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

// BusID of the machine's card with an index.
func BusID(index int) string { return fmt.Sprintf("0000:%02x:00.0", index+1) }

// WriteFile writes a file of a machine.
func WriteFile(root, path, content string) error {
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}
