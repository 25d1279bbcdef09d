// Package nvidia decides what NVIDIA's extensions do on a machine: which modules load, whether the driver drives the
// cards, and which files then exist.
package nvidia

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"talos-gpu/lab/machines/internal/host"
)

// Flavours of the kernel modules.
const (
	Open        = "open"
	Proprietary = "proprietary"
)

// Driver is what of NVIDIA's driver is on a machine after its modules were loaded.
type Driver struct {
	// Modules that are loaded, sorted.
	Modules []string
	// ModuleVersion and Flavour of the loaded kernel modules; "" when none is.
	ModuleVersion, Flavour string
	// Up says that the modules drive the cards.
	Up bool
	// LibraryVersion of the user-space libraries, which come with the toolkit; "" without it.
	LibraryVersion string
	// Toolkit says that the container toolkit's extension is there.
	Toolkit bool
	// Messages are what the kernel logs.
	Messages []string
}

// ours are the modules of a kmod extension, with what each needs loaded first.
var ours = map[string][]string{
	"nvidia":         nil,
	"nvidia_uvm":     {"nvidia"},
	"nvidia_modeset": {"nvidia"},
	"nvidia_drm":     {"nvidia", "nvidia_modeset"},
	"nvidia_peermem": {"nvidia"},
}

// Load loads the modules that a configuration declares. The extensions blacklist theirs (nvidia.conf in
// siderolabs/extensions nvidia-gpu), so that nothing loads that isn't declared, but for what a declared one needs.
func Load(extensions []host.Extension, declared []string, gpus []host.GPU) Driver {
	driver := Driver{}

	for _, extension := range extensions {
		version, _, _ := strings.Cut(extension.Version, "-")

		switch {
		case strings.HasPrefix(extension.Name, "nvidia-open-gpu-kernel-modules-"):
			driver.ModuleVersion, driver.Flavour = version, Open
		case strings.HasPrefix(extension.Name, "nonfree-kmod-nvidia-"):
			driver.ModuleVersion, driver.Flavour = version, Proprietary
		case strings.HasPrefix(extension.Name, "nvidia-container-toolkit-"):
			driver.LibraryVersion, driver.Toolkit = version, true
		}
	}

	wanted := closure(declared)
	if len(wanted) == 0 || driver.ModuleVersion == "" {
		for _, name := range wanted {
			driver.Messages = append(driver.Messages, fmt.Sprintf("error loading module %q: module not found", name))
		}

		driver.ModuleVersion, driver.Flavour = "", ""

		return driver
	}

	if cards(gpus) == 0 {
		driver.Messages = append(driver.Messages, "NVRM: No NVIDIA GPU found.", `error loading module "nvidia": no such device`)
		driver.ModuleVersion, driver.Flavour = "", ""

		return driver
	}

	driver.Modules = wanted

	if refusal := refuses(driver.Flavour, driver.ModuleVersion, gpus); refusal != "" {
		driver.Messages = append(driver.Messages, refusal, "NVRM: None of the NVIDIA devices were initialized.")

		return driver
	}

	driver.Up = true

	return driver
}

// closure is the declared modules that are ours with those that they need, sorted. A module is declared with dashes or
// underscores.
func closure(declared []string) []string {
	var names []string

	for _, name := range declared {
		name = strings.ReplaceAll(name, "-", "_")

		needs, ok := ours[name]
		if !ok {
			continue
		}

		names = append(append(names, needs...), name)
	}

	slices.Sort(names)

	return slices.Compact(names)
}

func cards(gpus []host.GPU) int {
	sum := 0
	for _, gpu := range gpus {
		sum += Count(gpu)
	}

	return sum
}

// Count is the number of cards of a kind, 1 when it isn't said.
func Count(gpu host.GPU) int {
	return max(gpu.Count, 1)
}

// branch ranges of the driver by architecture: first that knows it, last that still does (NVIDIA's release notes; 580 is
// the last branch for Maxwell, Pascal and Volta).
var branches = map[string]struct{ first, last int }{
	"Maxwell":   {343, 580},
	"Pascal":    {367, 580},
	"Volta":     {384, 580},
	"Turing":    {410, 0},
	"Ampere":    {450, 0},
	"Ada":       {520, 0},
	"Hopper":    {520, 0},
	"Blackwell": {570, 0},
}

// refuses says why the modules do not drive the cards, or "". Open modules need a GPU system processor, which cards have
// from Turing on; Blackwell has no proprietary modules (NVIDIA/open-gpu-kernel-modules README; cozystack#3563: the
// module loads, and no devices are found).
func refuses(flavour, version string, gpus []host.GPU) string {
	major, _, _ := strings.Cut(version, ".")
	branch, _ := strconv.Atoi(major)

	for _, gpu := range gpus {
		legacy := slices.Contains([]string{"Maxwell", "Pascal", "Volta"}, gpu.Architecture)

		switch {
		case flavour == Open && legacy:
			return fmt.Sprintf("NVRM: The NVIDIA GPU %s installed in this system is not supported by open nvidia.ko because it does not include the required GPU System Processor (GSP).", gpu.Model)
		case flavour == Proprietary && gpu.Architecture == "Blackwell":
			return fmt.Sprintf("NVRM: The NVIDIA GPU %s installed in this system requires use of the NVIDIA open kernel modules.", gpu.Model)
		}

		known, ok := branches[gpu.Architecture]
		if ok && (branch < known.first || known.last != 0 && branch > known.last) {
			return fmt.Sprintf("NVRM: The NVIDIA GPU %s installed in this system is not supported by the NVIDIA %s driver release.", gpu.Model, version)
		}
	}

	return ""
}
