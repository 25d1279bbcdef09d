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
	schematic, err := c.schematic(ctx, installer.SchematicID)
	if err != nil {
		return Image{}, err
	}

	image := Image{Installer: installer, Schematic: schematic}

	wanted, err := officialExtensions(schematic)
	if err != nil || len(wanted) == 0 {
		return image, err
	}

	available, err := c.extensions(ctx, installer.Version)
	if err != nil {
		return Image{}, err
	}

	for _, name := range wanted {
		if alias := aliases[name]; alias != "" {
			name = alias
		}

		reference, ok := available[name]
		if !ok {
			return Image{}, fmt.Errorf("400 Bad Request: official extension %q is not available for Talos version %s", name, installer.Version)
		}

		image.Extensions = append(image.Extensions, host.Extension{
			Name:      name[strings.LastIndex(name, "/")+1:],
			Version:   reference[strings.LastIndex(reference, ":")+1:],
			Reference: reference,
		})
	}

	return image, nil
}

func (c *Client) schematic(ctx context.Context, id string) (string, error) {
	if id == EmptySchematic {
		return "customization: {}\n", nil
	}

	body, err := c.get(ctx, "/schematics/"+id)

	return string(body), err
}

// extensions of a Talos release: name to image reference.
func (c *Client) extensions(ctx context.Context, version string) (map[string]string, error) {
	body, err := c.get(ctx, "/version/"+version+"/extensions/official")
	if err != nil {
		return nil, err
	}

	var list []struct {
		Name string `json:"name"`
		Ref  string `json:"ref"`
	}

	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("extensions of %s: %w", version, err)
	}

	byName := map[string]string{}
	for _, item := range list {
		byName[item.Name] = item.Ref
	}

	return byName, nil
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
	if err != nil {
		return nil, err
	}

	if response.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, strings.TrimSpace(string(body)))
	}

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}

	return body, nil
}

// customization of a schematic, as far as an installer carries it (image-factory pkg/schematic/schematic.go).
type customization struct {
	Customization struct {
		ExtraKernelArgs  []string `yaml:"extraKernelArgs"`
		SystemExtensions struct {
			OfficialExtensions []string `yaml:"officialExtensions"`
		} `yaml:"systemExtensions"`
	} `yaml:"customization"`
}

// officialExtensions reads a schematic's list.
func officialExtensions(schematic string) ([]string, error) {
	var document customization
	if err := yaml.Unmarshal([]byte(schematic), &document); err != nil {
		return nil, fmt.Errorf("schematic: %w", err)
	}

	return document.Customization.SystemExtensions.OfficialExtensions, nil
}

// kernelArgs that the image's schematic adds.
func (i Image) kernelArgs() []string {
	var document customization
	if err := yaml.Unmarshal([]byte(i.Schematic), &document); err != nil {
		return nil
	}

	return document.Customization.ExtraKernelArgs
}
