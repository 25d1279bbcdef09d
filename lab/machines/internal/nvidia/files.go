package nvidia

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"talos-gpu/lab/machines/internal/host"
)

// PCIDriverPath exists once the nvidia module is loaded. The persistence daemon's service waits for it
// (siderolabs/extensions nvidia-gpu/nvidia-container-toolkit/production/nvidia-persistenced.yaml).
const PCIDriverPath = "/sys/bus/pci/drivers/nvidia"

// CDIPath is the specification that ext-nvidia-cdi-gen writes from Talos 1.13 on.
const CDIPath = "/run/cdi/nvidia.yaml"

// WriteFiles makes /proc, /dev and /sys below root show the driver.
func WriteFiles(root string, driver Driver, gpus []host.GPU) error {
	for _, gone := range []string{"proc/driver/nvidia", "dev", strings.TrimPrefix(PCIDriverPath, "/")} {
		if err := os.RemoveAll(filepath.Join(root, gone)); err != nil {
			return err
		}
	}

	files := map[string]string{"/proc/modules": procModules(driver.Modules)}

	if len(driver.Modules) > 0 {
		files["/proc/driver/nvidia/version"] = versionFile(driver)
		files[PCIDriverPath+"/module"] = "nvidia\n"
	}

	if driver.Up {
		for index, gpu := range each(gpus) {
			files[fmt.Sprintf("/dev/nvidia%d", index)] = ""
			files["/proc/driver/nvidia/gpus/"+BusID(index)+"/information"] = fmt.Sprintf(
				"Model: \t\t NVIDIA %s\nGPU UUID: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\n",
				gpu.Model, UUID(root, index), BusID(index), index)
		}

		for device, module := range map[string]string{
			"nvidiactl": "nvidia", "nvidia-uvm": "nvidia_uvm", "nvidia-uvm-tools": "nvidia_uvm", "nvidia-modeset": "nvidia_modeset",
		} {
			if slices.Contains(driver.Modules, module) {
				files["/dev/"+device] = ""
			}
		}
	}

	for path, content := range files {
		if err := WriteFile(root, path, content); err != nil {
			return err
		}
	}

	return os.MkdirAll(filepath.Join(root, "dev"), 0o755)
}

// WriteCDI writes the CDI specification: a device per card, and all of them.
func WriteCDI(root string, gpus []host.GPU) error {
	document := "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n"

	all := ""

	for index := range each(gpus) {
		node := fmt.Sprintf("        - path: /dev/nvidia%d\n", index)
		document += fmt.Sprintf("  - name: \"%d\"\n    containerEdits:\n      deviceNodes:\n%s", index, node)
		all += node
	}

	document += "  - name: all\n    containerEdits:\n      deviceNodes:\n" + all

	return WriteFile(root, CDIPath, document)
}

// BusID of the machine's card with an index.
func BusID(index int) string {
	return fmt.Sprintf("0000:%02x:00.0", index+1)
}

// UUID of the machine's card with an index: made of the machine's folder, so that it stays the same over boots.
func UUID(root string, index int) string {
	sum := uint64(14695981039346656037)
	for _, char := range fmt.Sprintf("%s/%d", filepath.Base(filepath.Dir(root)), index) {
		sum = (sum ^ uint64(char)) * 1099511628211
	}

	return fmt.Sprintf("GPU-%08x-%04x-%04x-%04x-%012x", uint32(sum), uint16(sum>>32), uint16(sum>>48), uint16(sum>>16), sum&0xffffffffffff)
}

// WriteFile writes a file of a machine.
func WriteFile(root, path, content string) error {
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	return os.WriteFile(path, []byte(content), 0o644)
}

func each(gpus []host.GPU) []host.GPU {
	var all []host.GPU
	for _, gpu := range gpus {
		for range Count(gpu) {
			all = append(all, gpu)
		}
	}

	return all
}

// procModules is /proc/modules: name, size, references, users, state, address, taint (proc_modules(5)).
func procModules(modules []string) string {
	sizes := map[string]int{"nvidia": 14381056, "nvidia_uvm": 2105344, "nvidia_modeset": 1736704, "nvidia_drm": 139264}
	out := ""

	for _, name := range modules {
		var users []string

		for _, other := range modules {
			if slices.Contains(ours[other], name) {
				users = append(users, other)
			}
		}

		list := "-"
		if len(users) > 0 {
			list = strings.Join(users, ",") + ","
		}

		out += fmt.Sprintf("%s %d %d %s Live 0x0000000000000000 (O)\n", name, max(sizes[name], 16384), len(users), list)
	}

	return out
}

func versionFile(driver Driver) string {
	line := "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + driver.ModuleVersion
	if driver.Flavour == Open {
		line = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + driver.ModuleVersion
	}

	return line + "  Release Build  (@buildkitsandbox)\nGCC version:  \n"
}
