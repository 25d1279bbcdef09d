// Package release tells what of a Talos release's version decides how its machines behave.
package release

import (
	"github.com/blang/semver/v4"

	"talos-gpu/lab/machines/internal/host"
)

// Parse reads a version, with or without its leading v; the zero version where it is none.
func Parse(version string) semver.Version {
	parsed, err := semver.ParseTolerant(version)
	if err != nil {
		return semver.Version{}
	}

	return parsed
}

// Minor of a Talos 1.x release.
func Minor(version string) uint64 { return Parse(version).Minor }

// Era of the extensions' layout (siderolabs/extensions c5480f9, Talos 1.13).
func Era(version string) host.Era {
	if Minor(version) >= 13 {
		return host.EraCDI
	}

	return host.EraLegacy
}

// StreamingAPI says that the release has ImageService and LifecycleService (talos v1.13.0
// internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go, Register; absent at v1.12.11).
func StreamingAPI(version string) bool { return Minor(version) >= 13 }
