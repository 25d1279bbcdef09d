// Package factory knows installer images, and asks the Image Factory what is in them.
package factory

import (
	"fmt"
	"regexp"
	"strings"

	"talos-gpu/lab/machines/internal/host"
)

// EmptySchematic is the ID of the schematic without customization (Image Factory documentation).
const EmptySchematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

// Installer is what an installer image's reference says.
type Installer struct {
	Platform    string
	SecureBoot  bool
	SchematicID string
	// Version with its v, e.g. v1.12.6.
	Version string
}

// Image is an installed or pulled image of Talos.
type Image struct {
	Installer
	Contents
}

// Contents of an image.
type Contents struct {
	// Schematic is its YAML as the Factory gives it.
	Schematic  string
	Extensions []host.Extension
	// KernelArgs that its schematic adds.
	KernelArgs []string
}

var (
	factoryPath = regexp.MustCompile(`^(?:(?P<platform>[a-z0-9]+)-)?installer(?P<secureboot>-secureboot)?/(?P<id>[0-9a-f]{64})$`)
	versionTag  = regexp.MustCompile(`^v\d+\.\d+\.\d+(?:-[0-9a-z.]+)?$`)
)

// ParseInstaller reads a reference such as factory.talos.dev/metal-installer/ID:v1.12.6 (image-factory docs/api.md), or
// the stock ghcr.io/siderolabs/installer:v1.12.6. The host is not looked at: the lab's Factory stands for every one.
func ParseInstaller(reference string) (Installer, error) {
	registry, rest, found := strings.Cut(reference, "/")
	if !found || registry == "" {
		return Installer{}, fmt.Errorf("%q is no image reference", reference)
	}
	path, version, found := strings.Cut(rest, ":")
	if !found {
		return Installer{}, fmt.Errorf("image %q has no tag", reference)
	}
	version, _, _ = strings.Cut(version, "@")
	if !versionTag.MatchString(version) {
		return Installer{}, fmt.Errorf("image %q: tag %q is no Talos version", reference, version)
	}
	if path == "siderolabs/installer" {
		return Installer{Platform: "metal", SchematicID: EmptySchematic, Version: version}, nil
	}
	parts := factoryPath.FindStringSubmatch(path)
	if parts == nil {
		return Installer{}, fmt.Errorf("%q is no installer image", reference)
	}
	installer := Installer{Platform: "metal", SecureBoot: parts[2] != "", SchematicID: parts[3], Version: version}
	if parts[1] != "" {
		installer.Platform = parts[1]
	}
	return installer, nil
}

// CommandLine of an image that boots as UKI: what Talos starts its kernel with, and what the schematic adds (talos v1.13.0
// pkg/machinery/kernel/kernel.go, DefaultArgs and SecureBootArgs; pkg/imager/imager.go, buildCmdline).
func (i Image) CommandLine() string {
	args := []string{
		"talos.platform=" + i.Platform, "console=tty0", "init_on_alloc=1", "slab_nomerge=", "pti=on", "consoleblank=0",
		"nvme_core.io_timeout=4294967295", "printk.devkmsg=on", "selinux=1", "module.sig_enforce=1", "proc_mem.force_override=never",
	}
	if i.SecureBoot {
		args = append(args, "lockdown=confidentiality")
	}
	return strings.Join(append(args, i.KernelArgs...), " ")
}
