// Package factory knows installer images, and asks the Image Factory what is in them.
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

// Installer is what an installer image's reference says.
type Installer struct {
	Platform    string
	SecureBoot  bool
	SchematicID string
	Version     string // Version with its v, e.g. v1.12.6.
}

// Image is an installed or pulled image of Talos.
type Image struct {
	Installer
	Contents
}

// Contents of an image.
type Contents struct {
	Schematic  string // its YAML as the Factory gives it
	Extensions []host.Extension
	KernelArgs []string // KernelArgs that its schematic adds
}

var reference = regexp.MustCompile(`^[^/]+/(?:siderolabs/installer|(?:([a-z0-9]+)-)?installer(-secureboot)?/([0-9a-f]{64})):(v\d+\.\d+\.\d+(?:-[0-9a-z.]+)?)(?:@|$)`)

// ParseInstaller reads a reference such as factory.talos.dev/metal-installer/ID:v1.12.6 (image-factory docs/api.md), or
// the stock ghcr.io/siderolabs/installer:v1.12.6. The host is not looked at: the lab's Factory stands for every one.
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

// ErrNotFound is what the Factory does not know.
var ErrNotFound = errors.New("404 Not Found")

// Client asks the Image Factory over HTTP.
type Client struct {
	url  string
	http *http.Client
}

// NewClient makes a client of the Factory at a URL.
func NewClient(url string) *Client {
	return &Client{url: strings.TrimRight(url, "/"), http: &http.Client{Timeout: 30 * time.Second}}
}

// contents is the annotation of a manifest by which the lab's Factory says what is in the image (lab/factory/index.ts).
const contents = "lab.talos-gpu.dev/contents"

// Resolve finds out what is in an installer image. Its errors are those that a machine meets when it pulls the image:
// the Factory builds images when they are asked for, so that is where an unknown schematic or extension shows.
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
