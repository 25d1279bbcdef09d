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
)

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
