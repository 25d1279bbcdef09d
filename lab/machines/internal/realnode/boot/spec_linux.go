// Package boot describes one boot of a real node for the node's processes.
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

// Spec describes one boot of a node. It has the snapshot of the machine, without the configuration.
type Spec struct {
	host.Snapshot
	// Kubernetes is the cluster's API, as this computer reaches it, and the CA that signs the kubelet's certificate.
	spec.Kubernetes
	// Node has the folders with the built programs.
	spec.Node
	Name string
	// Address is the machine's address, or "" if the node cannot have it. Then the node has only the address of its
	// cable.
	Address string
	Folder  string // the node's folder, whose built files stay from boot to boot
	// Proc is mounted as /proc/driver with the simulated driver. It follows the modules that the machine has loaded.
	Proc  string
	Cards []gpu.Card // of the simulated driver
	// StatusEvery is how often the kubelet checks whether its node's status has changed.
	StatusEvery time.Duration
	// RestartAfter is the delay before the machine restarts a service that has ended.
	RestartAfter time.Duration
}

// NodeIP returns the node's address in the cluster. network is the number of the node's network.
func (s *Spec) NodeIP(network int) string { return cmp.Or(s.Address, Address(network)) }

// HasToolkit reports whether the machine's image has NVIDIA's toolkit, which includes the driver's libraries.
func (s *Spec) HasToolkit() bool { return s.LibraryVersion != "" }

// StandsIn reports whether the node has a simulated driver instead of a real one.
func (s *Spec) StandsIn() bool { return s.HasToolkit() && !s.RealDriver && len(s.Cards) > 0 }

// Program finds a program in the folders of programs. Programs with several releases are found as FOLDER/NAME.
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

// Built returns the path of a program or library that was built from C.
func (s *Spec) Built(name string) string { return filepath.Join(s.Folder, "programs", name) }

// APISocket is the socket through which the node reaches the cluster's API.
func (s *Spec) APISocket() string { return filepath.Join(s.Folder, "api.sock") }

// FactsSocket is the socket through which the node reaches the machine's facts.
func (s *Spec) FactsSocket() string { return filepath.Join(s.Folder, "facts.sock") }

// Addresses at which pods and the node reach the cluster's API and its DNS.
const (
	APIAddress = "10.96.0.1"
	DNSAddress = "10.96.0.10"
)

// FactsAddress is where emulated programs on the node get the facts of their machine.
const FactsAddress = APIAddress + ":8181"

// Gateway returns this computer's address on the cable of a node, by the number of the node's network.
func Gateway(network int) string { return fmt.Sprintf("10.255.%d.1", network) }

// Address returns the node's address on its cable, at which this computer reaches the node. The machine's address would
// not do, because nodes of two labs may have the same one.
func Address(network int) string { return fmt.Sprintf("10.255.%d.2", network) }

// Link returns the name of the cable's interface on this computer.
func Link(network int) string { return fmt.Sprintf("tgnode%d", network) }
