// Package spec is the lab's description of the machines to emulate.
package spec

import (
	"encoding/json"
	"fmt"
	"os"

	"talos-gpu/lab/machines/internal/host"
)

// Spec is the whole description.
type Spec struct {
	// Dir is the folder for the machines' state. The program writes nothing outside of it.
	Dir string `json:"dir"`
	// TimeScale is the number of lab seconds per real second. With 60, a lab minute takes a second.
	TimeScale float64 `json:"timeScale"`
	// Factory is the URL of the Image Factory.
	Factory string `json:"factory"`
	// Kubernetes is the control plane that the machines' kubelets join. With nil no kubelet runs.
	Kubernetes *Kubernetes `json:"kubernetes"`
	// Talos is the PKI of the machine API of an existing cluster. It is nil if machines in maintenance mode make a new
	// cluster. Then the PKI comes with their first configuration.
	Talos       *PKI      `json:"talos"`
	ClusterName string    `json:"clusterName"`
	Machines    []Machine `json:"machines"`
}

// Kubernetes is a control plane. CACert and CAKey are the files (PEM) of the authority that signs kubelets'
// certificates.
type Kubernetes struct {
	Server string `json:"server"`
	CACert string `json:"caCert"`
	CAKey  string `json:"caKey"`
	// Nodes is the socket at which the API server requests connections to the kubelets.
	Nodes string `json:"nodes"`
	// LeaderWorkerSet is the path of LeaderWorkerSet's program. With "" no pod runs it.
	LeaderWorkerSet string `json:"leaderWorkerSet"`
}

// PKI has the paths of a CA's files (PEM).
type PKI struct {
	CACert string `json:"caCert"`
	CAKey  string `json:"caKey"`
}

// Machine is the state of one machine when the lab starts: installed and booted, or in maintenance mode.
type Machine struct {
	Name         string `json:"name"`
	Address      string `json:"address"`
	Role         string `json:"role"`
	TalosVersion string `json:"talosVersion"`
	SchematicID  string `json:"schematicId"`
	Platform     string `json:"platform"`
	// SecureBoot says that the machine's firmware starts only signed images. Then the machine's first image is signed.
	SecureBoot bool `json:"secureBoot"`
	// Config is the path of the machine configuration. With "" the machine waits in maintenance mode, for a new cluster
	// or to join the existing one.
	Config string     `json:"config"`
	GPUs   []host.GPU `json:"gpus"`
	// Node is the real node of the machine. With nil the kubelet is emulated.
	Node *Node `json:"node"`
}

// Node is a real node.
type Node struct {
	// Programs are the folders with the node's programs.
	Programs []string `json:"programs"`
	// RealDriver uses the driver and the cards of this computer instead of a simulated driver.
	RealDriver bool `json:"realDriver"`
}

// Load reads a JSON file.
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
