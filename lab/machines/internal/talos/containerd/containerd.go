// Package containerd composes containerd's configuration from parts, as Talos does.
package containerd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/siderolabs/talos/pkg/machinery/config/merge"
)

const (
	// Folder is the folder of the parts.
	Folder = "/etc/cri/conf.d"
	// CustomizationPath is the path of the only part that a machine configuration may add.
	CustomizationPath = Folder + "/" + CustomizationPart
	// CustomizationPart is the file name of this part.
	CustomizationPart = "20-customization.part"
	// InMemoryFrom is the first minor of Talos that merges the customization without a file (talos v1.14.1
	// controllers/files/cri_config.go).
	InMemoryFrom = 14
	// inMemoryHead is the prefix of the names of parts that have no file.
	inMemoryHead = "20-"
	// ConfigPath is the path of the merged configuration.
	ConfigPath = Folder + "/cri.toml"
)

// PartReadTo is the newest minor of Talos whose hack/cri-plugin.part was compared with BasePart (1.15: talos ad88231,
// which adds a cgroup of the shims).
const PartReadTo = 15

// BasePart returns Talos' part (talos hack/cri-plugin.part at v1.9.6, v1.11.5, v1.12.6, v1.13.0). It omits settings of
// images and NRI on which no GPU depends. They are the same in all these releases, except `use_local_image_pull` before
// 1.10.
func BasePart(minor int) string {
	base := `version = 3

[plugins."io.containerd.cri.v1.images"]
  discard_unpacked_layers = true
`
	if minor >= 13 {
		base += `
[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = true
  cdi_spec_dirs = ["/run/cdi"]
`
	}
	base += `
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  base_runtime_spec = "/etc/cri/conf.d/base-spec.json"
`
	if minor >= 14 { // talos 9ae260b
		return base
	}
	return base + `
[plugins."io.containerd.nri.v1.nri"]
  disable = true
`
}

// NvidiaPart is the part of the container toolkit's extension (siderolabs/extensions
// nvidia-gpu/nvidia-container-toolkit/nvidia-container-runtime/10-nvidia-container-runtime.part).
const NvidiaPart = `[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
  privileged_without_host_devices = false
  runtime_engine = ""
  runtime_root = ""
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
    BinaryName = "/usr/local/bin/nvidia-container-runtime"
`

// InMemoryPart returns the name of a customization's part. Talos >= 1.14 uses this name to sort it among the other
// parts.
func InMemoryPart(customization string) string { return inMemoryHead + customization + ".part" }

// Merge merges the parts in the lexical order of their file names. Tables are merged, arrays are concatenated, scalars
// of later parts win, and a change of type is an error (talos v1.13.0 internal/pkg/toml/merge.go, with machinery's
// merge). The head lists the source of each part, in the format of that minor.
func Merge(parts map[string]string, minor int) (string, error) {
	merged, out := map[string]any{}, &bytes.Buffer{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		path, partial := Folder+"/"+name, map[string]any{}
		if err := toml.Unmarshal([]byte(parts[name]), &partial); err != nil {
			return "", fmt.Errorf("error decoding %q: %w", path, err)
		}
		if err := merge.Merge(merged, partial); err != nil {
			return "", fmt.Errorf("error merging %q: %w", path, err)
		}
		origin := path
		switch {
		case minor >= InMemoryFrom && strings.HasPrefix(name, inMemoryHead):
			origin = fmt.Sprintf("in-memory customization %q", strings.TrimSuffix(strings.TrimPrefix(name, inMemoryHead), ".part"))
		case minor >= InMemoryFrom:
			origin = "file " + path
		}
		fmt.Fprintf(out, "## %s (sha256:%x)\n", origin, sha256.Sum256([]byte(parts[name])))
	}
	out.WriteByte('\n')
	err := toml.NewEncoder(out).SetIndentTables(true).Encode(merged)
	return out.String(), err
}

// Effective is what containerd reads from a merged configuration.
type Effective struct {
	Runtimes []string // the names of the runtime handlers, sorted
	Default  string   // the handler of pods without a RuntimeClass
	NRI      bool     // whether plugins may connect
}

// Read returns what containerd reads from a configuration. With a `version` other than 3, containerd 2 uses other names
// of the plugins. Then it ignores the settings of Talos and the extensions, and runs with its defaults.
func Read(config string) (Effective, error) {
	var document struct {
		Version int `toml:"version"`
		Plugins map[string]struct {
			Containerd struct {
				DefaultRuntimeName string         `toml:"default_runtime_name"`
				Runtimes           map[string]any `toml:"runtimes"`
			} `toml:"containerd"`
			Disable bool `toml:"disable"`
		} `toml:"plugins"`
	}
	if err := toml.Unmarshal([]byte(config), &document); err != nil {
		return Effective{}, err
	}
	effective := Effective{Runtimes: []string{"runc"}, Default: "runc", NRI: true}
	if document.Version != 3 {
		return effective, nil
	}
	plugin := document.Plugins["io.containerd.cri.v1.runtime"].Containerd
	effective.Runtimes = append(effective.Runtimes, slices.Collect(maps.Keys(plugin.Runtimes))...)
	effective.NRI = !document.Plugins["io.containerd.nri.v1.nri"].Disable
	slices.Sort(effective.Runtimes)
	effective.Runtimes = slices.Compact(effective.Runtimes)
	if plugin.DefaultRuntimeName != "" {
		effective.Default = plugin.DefaultRuntimeName
	}
	if !slices.Contains(effective.Runtimes, effective.Default) { // seen on Talos v1.13.0
		return effective, errors.New(`invalid plugin config: no corresponding runtime configured in "containerd.runtimes" for "containerd.default_runtime_name = \"` + effective.Default + `\""`)
	}
	return effective, nil
}
