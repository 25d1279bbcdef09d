// Package release tells what of a Talos release's version decides how its machines behave.
package release

import (
	"fmt"

	"talos-gpu/lab/machines/internal/host"
)

// Parse reads minor and patch of a Talos 1.x release; zeros where it is none. A pre-release counts as its release.
func Parse(version string) (minor, patch int) {
	_, _ = fmt.Sscanf(version, "v1.%d.%d", &minor, &patch)
	return minor, patch
}

// Minor of a Talos 1.x release.
func Minor(version string) int {
	minor, _ := Parse(version)
	return minor
}

// Era of the extensions' layout (siderolabs/extensions c5480f9, Talos 1.13).
func Era(version string) host.Era {
	if Minor(version) >= 13 {
		return host.EraCDI
	}
	return host.EraLegacy
}
