package machine

import (
	"time"

	"github.com/blang/semver/v4"

	"talos-gpu/lab/machines/internal/host"
)

// Lab time that things take. They are typical of a server with a fast disk and network; what matters to the lab is that
// each has its share.
const (
	pullTime     = 90 * time.Second
	installTime  = 60 * time.Second
	stopTime     = 30 * time.Second // pods and services go down
	firmwareTime = 80 * time.Second // API unreachable: shutdown, firmware, kernel
	earlyTime    = 10 * time.Second // machined and apid are up
	servicesTime = 30 * time.Second // cri, kubelet, etcd, extension services
)

func parse(version string) semver.Version {
	parsed, err := semver.ParseTolerant(version)
	if err != nil {
		return semver.Version{}
	}

	return parsed
}

// minor of a Talos 1.x release.
func minor(version string) uint64 { return parse(version).Minor }

// era of the extensions' layout (siderolabs/extensions c5480f9, Talos 1.13).
func era(version string) host.Era {
	if minor(version) >= 13 {
		return host.EraCDI
	}

	return host.EraLegacy
}

// streamingAPI says that the release has ImageService and LifecycleService (talos v1.13.0
// internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go, Register; absent at v1.12.11).
func streamingAPI(version string) bool { return minor(version) >= 13 }

// failurePause is how long a boot whose userSetup failed waits for a corrected configuration. Every release says 35
// minutes (constants.FailurePauseTimeout); those before v1.12.9 and v1.13.0 to v1.13.4 wait 5 (talos
// v1alpha1_sequencer_tasks.go, pauseOnFailure, at each tag).
func failurePause(version string) time.Duration {
	v := parse(version)
	v.Pre = nil

	short := v.LT(semver.Version{Major: 1, Minor: 12, Patch: 9}) ||
		v.GE(semver.Version{Major: 1, Minor: 13}) && v.LT(semver.Version{Major: 1, Minor: 13, Patch: 5})
	if short {
		return 5 * time.Minute
	}

	return 35 * time.Minute
}

// bootTimeout is how long all services have to come up (talos v1.13.0 constants.BootTimeout).
const bootTimeout = 70 * time.Minute
