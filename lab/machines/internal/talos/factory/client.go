package factory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"talos-gpu/lab/machines/internal/host"
)

// aliases of extensions without a branch (image-factory internal/profile/profile.go).
var aliases = map[string]string{
	"siderolabs/nonfree-kmod-nvidia":            "siderolabs/nonfree-kmod-nvidia-lts",
	"siderolabs/nvidia-open-gpu-kernel-modules": "siderolabs/nvidia-open-gpu-kernel-modules-lts",
	"siderolabs/nvidia-container-toolkit":       "siderolabs/nvidia-container-toolkit-lts",
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

// Resolve finds out what is in an installer image. Its errors are those that a machine meets when it pulls the image:
// the Factory builds images when they are asked for, so that is where an unknown schematic or extension shows.
func (c *Client) Resolve(ctx context.Context, installer Installer) (Image, error) {
	image := Image{Installer: installer, Schematic: "customization: {}\n"}
	if installer.SchematicID != EmptySchematic {
		body, err := c.get(ctx, "/schematics/"+installer.SchematicID)
		if err != nil {
			return Image{}, err
		}
		image.Schematic = string(body)
	}
	// As far as an installer carries it (image-factory pkg/schematic/schematic.go).
	var document struct {
		Customization struct {
			ExtraKernelArgs  []string `yaml:"extraKernelArgs"`
			SystemExtensions struct {
				OfficialExtensions []string `yaml:"officialExtensions"`
			} `yaml:"systemExtensions"`
		} `yaml:"customization"`
	}
	if err := yaml.Unmarshal([]byte(image.Schematic), &document); err != nil {
		return Image{}, fmt.Errorf("schematic: %w", err)
	}
	image.kernelArgs = document.Customization.ExtraKernelArgs
	wanted := document.Customization.SystemExtensions.OfficialExtensions
	if len(wanted) == 0 {
		return image, nil
	}
	var available []struct{ Name, Ref string }
	body, err := c.get(ctx, "/version/"+installer.Version+"/extensions/official")
	if err == nil {
		err = json.Unmarshal(body, &available)
	}
	if err != nil {
		return Image{}, fmt.Errorf("extensions of %s: %w", installer.Version, err)
	}
	references := map[string]string{}
	for _, item := range available {
		references[item.Name] = item.Ref
	}
	for _, name := range wanted {
		if alias := aliases[name]; alias != "" {
			name = alias
		}
		reference, ok := references[name]
		if !ok {
			return Image{}, fmt.Errorf("400 Bad Request: official extension %q is not available for Talos version %s", name, installer.Version)
		}
		image.Extensions = append(image.Extensions, host.Extension{
			Name: name[strings.LastIndex(name, "/")+1:], Version: reference[strings.LastIndex(reference, ":")+1:], Reference: reference,
		})
	}
	return image, nil
}

func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck
	body, err := io.ReadAll(response.Body)
	said := strings.TrimSpace(string(body))
	switch {
	case err == nil && response.StatusCode == http.StatusNotFound:
		err = fmt.Errorf("%w: %s", ErrNotFound, said)
	case err == nil && response.StatusCode != http.StatusOK:
		err = fmt.Errorf("%s: %s", response.Status, said)
	}
	return body, err
}
