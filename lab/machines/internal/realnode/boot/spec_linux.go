// Package boot describes one boot of a real node to the processes that make it.
package boot

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/spec"
)

// Spec describes one boot of a node: its machine as it says itself, without its configuration.
type Spec struct {
	host.Snapshot
	// Kubernetes is the cluster's API, as this computer reaches it, with the authority that signs the kubelet's certificate.
	spec.Kubernetes
	// Node has the folders with the programs, as they are built.
	spec.Node
	Name string
	// Address of its machine; "": none that the node can have, which then has that of its cable alone.
	Address string
	Folder  string // the node's own. What is built into it stays from boot to boot.
	// Proc is the folder that is /proc/driver while the stand-in of a driver is up: it follows what the machine has loaded.
	Proc  string
	Cards []gpu.Card // those of the stand-in of the driver
	// StatusEvery is how often the kubelet looks whether its node's status has changed.
	StatusEvery time.Duration
	// RestartAfter is how long the machine waits before it starts a service again that has ended.
	RestartAfter time.Duration
}

// NodeIP is what the node says its address is, by the number of its network.
func (s *Spec) NodeIP(network int) string { return cmp.Or(s.Address, Address(network)) }

// HasToolkit says that NVIDIA's toolkit is in the machine's image, and with it the driver's libraries.
func (s *Spec) HasToolkit() bool { return s.LibraryVersion != "" }

// StandsIn says that the driver that is up is the stand-in.
func (s *Spec) StandsIn() bool { return s.HasToolkit() && !s.RealDriver && len(s.Cards) > 0 }

// Program finds a program in the folders of programs; one of several releases by FOLDER/NAME.
func (s *Spec) Program(name string) (string, error) {
	for _, folder := range s.Programs {
		for _, path := range []string{filepath.Join(folder, name), filepath.Join(folder, name, name), filepath.Join(filepath.Dir(folder), name)} {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("there is no %s in %v; build the lab's tools again", name, s.Programs)
}

// Built is a program or library that was built from C.
func (s *Spec) Built(name string) string { return filepath.Join(s.Folder, "programs", name) }

// APISocket is where the cluster's API answers next to the node.
func (s *Spec) APISocket() string { return filepath.Join(s.Folder, "api.sock") }

// FactsSocket serves the machine's facts next to the node.
func (s *Spec) FactsSocket() string { return filepath.Join(s.Folder, "facts.sock") }

// Where pods and the node look for the cluster's API and for its DNS.
const (
	APIAddress = "10.96.0.1"
	DNSAddress = "10.96.0.10"
)

// FactsAddress is where emulated programs on the node ask for what they know of their machine.
const FactsAddress = APIAddress + ":8181"

// Gateway is this computer's address on a node's cable, by the number of its network here.
func Gateway(network int) string { return fmt.Sprintf("10.255.%d.1", network) }

// Address is the node's on its cable: how this computer reaches it. Nodes of two labs may also have the same machine's address.
func Address(network int) string { return fmt.Sprintf("10.255.%d.2", network) }

// Link is the cable's end on this computer.
func Link(network int) string { return fmt.Sprintf("tgnode%d", network) }
