// Package factory parses references of installer images, and gets the images' contents from the Image Factory.
package factory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/host"
)

// EmptySchematic is the ID of the schematic without customization (Image Factory documentation).
const EmptySchematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

// Installer is the parsed reference of an installer image.
type Installer struct {
	Platform    string
	SecureBoot  bool
	SchematicID string
	Version     string // with its v, e.g. v1.12.6
}

// Image is an installed or pulled image of Talos.
type Image struct {
	Installer
	Contents
}

// Contents is what an image contains.
type Contents struct {
	Schematic  string // YAML, as the Factory returns it
	Extensions []host.Extension
	KernelArgs []string // those that the schematic adds
}

var reference = regexp.MustCompile(`^[^/]+/(?:siderolabs/installer|(?:([a-z0-9]+)-)?installer(-secureboot)?/([0-9a-f]{64})):(v\d+\.\d+\.\d+(?:-[0-9a-z.]+)?)(?:@|$)`)

// ParseInstaller parses a reference such as factory.talos.dev/metal-installer/ID:v1.12.6 (image-factory docs/api.md),
// or ghcr.io/siderolabs/installer:v1.12.6 without a schematic. It ignores the host, because the lab's Factory replaces
// all registries.
func ParseInstaller(image string) (Installer, error) {
	parts := reference.FindStringSubmatch(image)
	if parts == nil {
		return Installer{}, fmt.Errorf("%q is no installer image of a Talos release", image)
	}
	return Installer{
		Platform:    cmp.Or(parts[1], "metal"),
		SecureBoot:  parts[2] != "",
		SchematicID: cmp.Or(parts[3], EmptySchematic),
		Version:     parts[4],
	}, nil
}

// CommandLine returns the kernel command line of an image that boots as UKI: Talos' arguments and those of the
// schematic (talos v1.13.0 pkg/machinery/kernel/kernel.go, DefaultArgs and SecureBootArgs; pkg/imager/imager.go,
// buildCmdline).
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

// ErrNotFound is the Factory's error for an unknown image.
var ErrNotFound = errors.New("404 Not Found")

// Client is an HTTP client of the Image Factory.
type Client struct {
	url  string
	http *http.Client
}

// NewClient makes a client of the Factory at a URL.
func NewClient(url string) *Client {
	return &Client{url: strings.TrimRight(url, "/"), http: &http.Client{Timeout: 30 * time.Second}}
}

// contents is the annotation of a manifest with which the lab's Factory describes an image's contents
// (lab/factory/index.ts).
const contents = "lab.talos-gpu.dev/contents"

// Resolve gets the contents of an installer image. It returns the errors that a machine gets when it pulls the image.
// The Factory builds images on request, so a pull is the first step that reports an unknown schematic or extension.
func (c *Client) Resolve(ctx context.Context, installer Installer) (Image, error) {
	name := installer.Platform + "-installer"
	if installer.SecureBoot {
		name += "-secureboot"
	}
	image, manifest := Image{Installer: installer}, struct{ Annotations map[string]string }{}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/v2/%s/%s/manifests/%s", c.url, name, installer.SchematicID, installer.Version), nil)
	if err != nil {
		return image, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return image, err
	}
	defer response.Body.Close() //nolint:errcheck
	body, err := io.ReadAll(response.Body)
	switch said := strings.TrimSpace(string(body)); {
	case err != nil:
		return image, err
	case response.StatusCode == http.StatusNotFound:
		return image, fmt.Errorf("%w: %s", ErrNotFound, said)
	case response.StatusCode != http.StatusOK:
		return image, fmt.Errorf("%s: %s", response.Status, said)
	}
	if err = json.Unmarshal(body, &manifest); err == nil {
		err = json.Unmarshal([]byte(manifest.Annotations[contents]), &image.Contents)
	}
	return image, err
}
