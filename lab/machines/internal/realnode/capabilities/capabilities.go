//go:build linux

// Package capabilities says what this process may do as root: in a container root may lack a right.
package capabilities

import (
	"fmt"
	"os"
	"strings"
)

// Numbers of capabilities (capability.h).
const (
	capSysAdmin    = 21
	capSysResource = 24
)

// MayLowerScores says whether containers may be spared by the kernel when memory runs out, as those of guaranteed pods are.
func MayLowerScores() bool { return may(capSysResource) }

// MayAdminister says whether this process may change settings of cards (open-gpu-kernel-modules, NV_IS_SUSER).
func MayAdminister() bool { return may(capSysAdmin) }

// may says whether this process has a capability.
func may(capability int) bool {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var set uint64
		if _, err := fmt.Sscanf(line, "CapEff: %x", &set); err == nil {
			return set&(1<<capability) != 0
		}
	}
	return false
}
