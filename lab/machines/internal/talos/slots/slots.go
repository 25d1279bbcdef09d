// Package slots has the images on a machine's disk. An upgrade is installed next to the running image, and is confirmed
// only after the machine has booted it.
package slots

// Pair is the images on a machine's disk. T is the type of an image.
type Pair[T any] struct {
	Running, Next T  // the image that was booted last, and that of the next boot
	Previous      *T // the image to which a failed boot returns (META tag 6)
	// Unconfirmed says that Talos shows META tag 6: Previous existed when the machine booted. Talos reads META only at
	// boot (talos v1.13.0 internal/app/lifecycle/lifecycle.go installs and does not read it again).
	Unconfirmed bool
}

// New returns the disk of a machine that runs an image.
func New[T any](running T) *Pair[T] { return &Pair[T]{Running: running, Next: running} }

// Install writes an image to the disk and makes it the default of the next boot. It keeps only the previous default. So
// a second installation removes the running image (seen on Talos v1.13.0; talos v1.13.0 bootloader/sdboot/sdboot.go,
// Upgrade, and bootloader/grub/boot_label.go).
//
// With keepsRunning, the installer keeps the running image instead (talos v1.14.0 bootloader/sdboot/sdboot.go,
// Upgrade).
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

// Confirm removes the fallback when the machine runs and is ready (seen on Talos v1.13.0; talos v1.13.0
// DropUpgradeFallbackController).
func (p *Pair[T]) Confirm() { p.Previous, p.Unconfirmed = nil, false }

// Revert makes the previous image the default again after a failed boot (seen on Talos v1.13.0; talos v1.13.0
// internal/app/machined/revert.go). It returns false if there is no previous image.
func (p *Pair[T]) Revert() bool {
	if p.Previous == nil {
		return false
	}
	p.Next, p.Previous = *p.Previous, nil
	return true
}
