// Package spec is the lab's description of the machines to emulate.
package spec

import (
	"encoding/json"
	"fmt"
	"os"

	"talos-gpu/lab/machines/internal/host"
)

// Spec is the whole file.
type Spec struct {
	// Dir is the folder for the machines' state. Nothing outside of it is written.
	Dir string `json:"dir"`
	// TimeScale is how many lab seconds pass in a second. 60: a lab minute takes a second.
	TimeScale float64 `json:"timeScale"`
	// Factory is the URL of the Image Factory.
	Factory string `json:"factory"`
	// Kubernetes is the control plane that the machines' kubelets join; nil: no kubelet runs.
	Kubernetes *Kubernetes `json:"kubernetes"`
	// Talos is the PKI of the machine API, of an existing cluster; nil where the machines make a new one from
	// maintenance mode, and get it with their first configuration.
	Talos       *PKI      `json:"talos"`
	ClusterName string    `json:"clusterName"`
	Machines    []Machine `json:"machines"`
}

// Kubernetes is a control plane. CACert and CAKey are the files (PEM) of the authority that signs kubelets' certificates.
type Kubernetes struct {
	Server string `json:"server"`
	CACert string `json:"caCert"`
	CAKey  string `json:"caKey"`
	// Nodes is the socket at which its API server asks for a way to the kubelets.
	Nodes string `json:"nodes"`
	// LeaderWorkerSet is the program of that name; "": no pod runs it.
	LeaderWorkerSet string `json:"leaderWorkerSet"`
}

// PKI names a CA's files (PEM).
type PKI struct {
	CACert string `json:"caCert"`
	CAKey  string `json:"caKey"`
}

// Machine is one machine as it stands when the lab starts: installed and booted, or in maintenance mode.
type Machine struct {
	Name         string `json:"name"`
	Address      string `json:"address"`
	Role         string `json:"role"`
	TalosVersion string `json:"talosVersion"`
	SchematicID  string `json:"schematicId"`
	Platform     string `json:"platform"`
	// SecureBoot says that its firmware starts signed images alone. The image that it begins with is signed then.
	SecureBoot bool `json:"secureBoot"`
	// Config is the path of its machine configuration; "": the machine has none, and waits in maintenance mode, for a new
	// cluster or to join the existing one.
	Config string     `json:"config"`
	GPUs   []host.GPU `json:"gpus"`
	// Node is the real node behind the machine's API; nil: its kubelet is emulated.
	Node *Node `json:"node"`
}

// Node is a real node.
type Node struct {
	// Programs are folders with its programs.
	Programs []string `json:"programs"`
	// RealDriver takes this computer's driver, with its cards, instead of a stand-in.
	RealDriver bool `json:"realDriver"`
}

// Load reads a file of JSON.
func Load[T any](path string) (*T, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := new(T)
	if err := json.Unmarshal(data, read); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read, nil
}
