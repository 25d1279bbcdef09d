package nvidia_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
)

var (
	open     = host.Extension{Name: "nvidia-open-gpu-kernel-modules-production", Version: "570.211.01-v1.12.6"}
	toolkit  = host.Extension{Name: "nvidia-container-toolkit-production", Version: "570.211.01-v1.18.2"}
	declared = []string{"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"}
	card     = []host.GPU{{Model: "RTX 5070 Ti", Count: 2}}
)

func TestLoad(t *testing.T) {
	for name, test := range map[string]struct {
		extensions []host.Extension
		declared   []string
		gpus       []host.GPU
		modules    int
		message    string
	}{
		"declared":                          {[]host.Extension{open, toolkit}, declared, card, 4, ""},
		"undeclared modules are not loaded": {[]host.Extension{open, toolkit}, nil, card, 0, ""},
		"a module brings what it needs":     {[]host.Extension{open}, []string{"nvidia-drm"}, card, 3, ""},
		"declared without the extension":    {[]host.Extension{toolkit}, declared, card, 0, "module not found"},
		"no card":                           {[]host.Extension{open}, declared, nil, 0, "No NVIDIA GPU found"},
	} {
		driver := nvidia.Load(test.extensions, test.declared, test.gpus)
		if len(driver.Modules) != test.modules || (driver.Version != "") != (test.modules > 0) || !strings.Contains(strings.Join(driver.Messages, "\n"), test.message) {
			t.Errorf("%s: %+v", name, driver)
		}
	}
}

func TestFilesFollowTheDriver(t *testing.T) {
	root := t.TempDir()
	if err := nvidia.WriteFiles(root, nvidia.Load([]host.Extension{open, toolkit}, declared, card), card); err != nil {
		t.Fatal(err)
	}
	version, _ := os.ReadFile(filepath.Join(root, "proc/driver/nvidia/version"))
	if !strings.HasPrefix(string(version), "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.211.01  Release Build") {
		t.Fatalf("%s", version)
	}
	modules, _ := os.ReadFile(filepath.Join(root, "proc/modules"))
	if !strings.Contains(string(modules), "nvidia_uvm ") || strings.Count(string(modules), " Live ") != 4 {
		t.Fatalf("%s", modules)
	}
	// The next boot has another driver: nothing of this one is left.
	if err := nvidia.WriteFiles(root, nvidia.Driver{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "proc/driver/nvidia/version")); err == nil {
		t.Fatal("the version of an absent driver is still there")
	}
}
