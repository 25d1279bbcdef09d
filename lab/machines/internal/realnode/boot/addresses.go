//go:build linux

package boot

import "fmt"

// Where pods and the node look for the cluster's API and for its DNS.
const (
	APIAddress = "10.96.0.1"
	DNSAddress = "10.96.0.10"
)

// FactsAddress is where emulated programs on the node ask for what they know of their machine.
const FactsAddress = APIAddress + ":8181"

// Gateway is this computer's address on a node's cable, by the number of its network here.
func Gateway(network int) string { return fmt.Sprintf("10.255.%d.1", network) }

// Address is the node's on its cable: how this computer reaches it. Nodes of two labs may have the same machine's address beside it.
func Address(network int) string { return fmt.Sprintf("10.255.%d.2", network) }

// Link is the cable's end on this computer.
func Link(network int) string { return fmt.Sprintf("tgnode%d", network) }
