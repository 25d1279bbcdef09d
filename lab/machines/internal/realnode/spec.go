//go:build linux

// Package realnode runs one machine's Kubernetes half for real: kubelet, containerd, runc, CNI plugins, NVIDIA's runtime and whatever the cluster's
// pods bring, in namespaces of its own, with the files where Talos and its extensions have them. It needs root. Everything lives in the namespaces of
// one process and in one folder, so nothing is left when that process ends.
package realnode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Spec describes a node.
type Spec struct {
	Name string `json:"name"`
	// Folder is the node's own; it must be empty.
	Folder string `json:"folder"`
	// Programs are folders with the programs, as they are built.
	Programs []string `json:"programs"`
	// Server of the cluster's API, as this computer reaches it, with the authority that signs the kubelet's certificate.
	Server string `json:"server"`
	CACert string `json:"caCert"`
	CAKey  string `json:"caKey"`
	// Network is the number of the node's network, 1 to 250: two nodes of one computer need two.
	Network int `json:"network"`
	// Parts of containerd's configuration by file name, beside Talos' own: the toolkit's and the machine's 20-customization.part.
	Parts map[string]string `json:"parts"`
	// Cards are those that the stand-in of NVML has; none without Extensions.
	Cards []Card `json:"cards"`
	// RealDriver takes the driver of this computer, with its cards, instead of the stand-in.
	RealDriver bool `json:"realDriver"`
	// Images beside those that are always there: names by which manifests know the one with a shell.
	ShellImages []string `json:"shellImages"`
	// ComputeImages are names of the image that computes on a card, or, without one, says that it would.
	ComputeImages []string `json:"computeImages"`
	// PluginImages are names of the device plugin's image.
	PluginImages []string `json:"pluginImages"`
}

// Card is one of the stand-in's.
type Card struct {
	UUID   string `json:"uuid"`
	Name   string `json:"name"`
	Memory uint64 `json:"memory"` // bytes
}

func load(path string) (*Spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	spec := &Spec{}
	if err := json.Unmarshal(text, spec); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if spec.Name == "" || spec.Folder == "" || spec.Server == "" || spec.Network < 1 || spec.Network > 250 {
		return nil, fmt.Errorf("%s: name, folder, server and network (1 to 250) must be set", path)
	}
	return spec, nil
}

// program finds a program in the folders of programs.
func (s *Spec) program(name string) (string, error) {
	for _, folder := range s.Programs {
		for _, path := range []string{filepath.Join(folder, name), filepath.Join(folder, name, name)} {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("there is no %s in %v; build the lab's tools again", name, s.Programs)
}

func (s *Spec) gateway() string { return fmt.Sprintf("10.255.%d.1", s.Network) }
func (s *Spec) address() string { return fmt.Sprintf("10.255.%d.2", s.Network) }
func (s *Spec) link() string    { return fmt.Sprintf("tgnode%d", s.Network) }
