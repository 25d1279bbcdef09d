package machine

import (
	"time"

	"github.com/blang/semver/v4"

	"talos-gpu/lab/machines/internal/talos/release"
)

// Lab time that things take. They are typical of a server with a fast disk and network; what matters to the lab is that
// each has its share.
const (
	pullTime      = 90 * time.Second
	pullTimeout   = 20 * time.Minute // talos v1.13.0 internal/pkg/containers/image/image.go, PullTimeout
	pullAgainTime = 15 * time.Second
	installTime   = 60 * time.Second
	stopTime      = 30 * time.Second // pods and services go down
	firmwareTime  = 80 * time.Second // API unreachable: shutdown, firmware, kernel
	earlyTime     = 10 * time.Second // machined and apid are up
	servicesTime  = 30 * time.Second // cri, kubelet, etcd, extension services
	readyTime     = 20 * time.Second // from running to ready: some 40 s on Talos v1.13.0 under emulation
)

// failurePause is how long a boot whose userSetup failed waits for a corrected configuration. Every release says 35
// minutes (constants.FailurePauseTimeout); those before v1.12.9 and v1.13.0 to v1.13.4 wait 5 (talos
// v1alpha1_sequencer_tasks.go, pauseOnFailure, at each tag).
func failurePause(version string) time.Duration {
	v := release.Parse(version)
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
