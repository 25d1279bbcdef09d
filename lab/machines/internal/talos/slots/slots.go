// Package slots is what a machine has on its disk to boot: an upgrade is installed in addition to what runs, and counts only once the machine
// has come up from it.
package slots

// Pair is the images on a machine's disk. T is an image.
type Pair[T any] struct {
	Running, Next T  // Running was booted last, Next is of the next boot
	Previous      *T // what a boot that fails goes back to (META tag 6)
	// Unconfirmed says that Talos shows META tag 6: Previous existed when the machine booted. META is read at boot alone (talos v1.13.0
	// internal/app/lifecycle/lifecycle.go installs and does not read it again).
	Unconfirmed bool
}

// New is a machine that runs an image.
func New[T any](running T) *Pair[T] { return &Pair[T]{Running: running, Next: running} }

// Install writes an image to the disk and makes it the default of the next boot. What was the default before is kept, and nothing else: after
// a second installation the image that runs is gone (seen on Talos v1.13.0; talos v1.13.0 bootloader/sdboot/sdboot.go, Upgrade, and
// bootloader/grub/boot_label.go).
//
// keepsRunning: the installer keeps the image that runs instead (talos v1.14.0 bootloader/sdboot/sdboot.go, Upgrade).
func (p *Pair[T]) Install(image T, keepsRunning bool) {
	previous := p.Next
	if keepsRunning {
		previous = p.Running
	}
	p.Previous, p.Next = &previous, image
}

// Boot starts the default image.
func (p *Pair[T]) Boot() T {
	p.Running, p.Unconfirmed = p.Next, p.Previous != nil
	return p.Running
}

// Confirm drops the fallback, once the machine runs and is ready (seen on Talos v1.13.0; talos v1.13.0 DropUpgradeFallbackController).
func (p *Pair[T]) Confirm() { p.Previous, p.Unconfirmed = nil, false }

// Revert makes the image from before the upgrade the default again, after a boot that failed
// (seen on Talos v1.13.0; talos v1.13.0 internal/app/machined/revert.go). False: there is nothing to go back to.
func (p *Pair[T]) Revert() bool {
	if p.Previous == nil {
		return false
	}
	p.Next, p.Previous = *p.Previous, nil
	return true
}
