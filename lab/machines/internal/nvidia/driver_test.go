package nvidia_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
)

var (
	open        = host.Extension{Name: "nvidia-open-gpu-kernel-modules-production", Version: "570.211.01-v1.12.6"}
	proprietary = host.Extension{Name: "nonfree-kmod-nvidia-production", Version: "570.211.01-v1.12.6"}
	oldOpen     = host.Extension{Name: "nvidia-open-gpu-kernel-modules-lts", Version: "535.247.01-v1.11.5"}
	newClosed   = host.Extension{Name: "nonfree-kmod-nvidia-production", Version: "595.58.03-v1.13.0"}
	toolkit     = host.Extension{Name: "nvidia-container-toolkit-production", Version: "570.211.01-v1.18.2"}

	declared = []string{"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"}
)

func card(architecture string) []host.GPU {
	return []host.GPU{{Model: architecture + " card", Architecture: architecture, Count: 1}}
}

func TestLoad(t *testing.T) {
	for name, test := range map[string]struct {
		extensions []host.Extension
		declared   []string
		gpus       []host.GPU
		up         bool
		modules    int
		message    string
	}{
		"open on Blackwell":                 {[]host.Extension{open, toolkit}, declared, card("Blackwell"), true, 4, ""},
		"undeclared modules are not loaded": {[]host.Extension{open, toolkit}, nil, card("Blackwell"), false, 0, ""},
		"a module brings what it needs":     {[]host.Extension{open}, []string{"nvidia-drm"}, card("Ada"), true, 3, ""},
		"declared without the extension":    {[]host.Extension{toolkit}, declared, card("Ada"), false, 0, "module not found"},
		"no card":                           {[]host.Extension{open}, declared, nil, false, 0, "No NVIDIA GPU found"},
		"proprietary on Blackwell":          {[]host.Extension{proprietary}, declared, card("Blackwell"), false, 4, "requires use of the NVIDIA open kernel modules"},
		"open on Pascal":                    {[]host.Extension{open}, declared, card("Pascal"), false, 4, "GPU System Processor"},
		"proprietary on Pascal":             {[]host.Extension{proprietary}, declared, card("Pascal"), true, 4, ""},
		"a branch too old for the card":     {[]host.Extension{oldOpen}, declared, card("Blackwell"), false, 4, "not supported by the NVIDIA 535.247.01"},
		"a branch too new for the card":     {[]host.Extension{newClosed}, declared, card("Volta"), false, 4, "not supported by the NVIDIA 595.58.03"},
	} {
		t.Run(name, func(t *testing.T) {
			driver := nvidia.Load(test.extensions, test.declared, test.gpus)

			if driver.Up != test.up || len(driver.Modules) != test.modules {
				t.Fatalf("%+v", driver)
			}

			if !strings.Contains(strings.Join(driver.Messages, "\n"), test.message) {
				t.Fatalf("messages %q lack %q", driver.Messages, test.message)
			}
		})
	}
}

func TestFilesFollowTheDriver(t *testing.T) {
	root := t.TempDir()
	driver := nvidia.Load([]host.Extension{open, toolkit}, declared, []host.GPU{{Model: "RTX 5070 Ti", Architecture: "Blackwell", Count: 2}})

	if err := nvidia.WriteFiles(root, driver, []host.GPU{{Model: "RTX 5070 Ti", Count: 2}}); err != nil {
		t.Fatal(err)
	}

	version, _ := os.ReadFile(filepath.Join(root, "proc/driver/nvidia/version"))
	if !strings.HasPrefix(string(version), "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.211.01  Release Build") {
		t.Fatalf("%s", version)
	}

	entries, _ := os.ReadDir(filepath.Join(root, "dev"))

	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}

	if !slices.Equal(names, []string{"nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia1", "nvidiactl"}) {
		t.Fatalf("%q", names)
	}

	modules, _ := os.ReadFile(filepath.Join(root, "proc/modules"))
	if !strings.Contains(string(modules), "nvidia_uvm ") || strings.Count(string(modules), " Live ") != 4 {
		t.Fatalf("%s", modules)
	}

	// the next boot has another driver: nothing of this one is left
	if err := nvidia.WriteFiles(root, nvidia.Driver{}, nil); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(filepath.Join(root, "proc/driver/nvidia/version")); err == nil {
		t.Fatal("the version of an absent driver is still there")
	}
}
