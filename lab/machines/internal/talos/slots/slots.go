// Package slots is what a machine has on its disk to boot: an upgrade is installed beside what runs, and counts only once the machine
// has come up from it.
package slots

// Pair is the images on a machine's disk. T is an image.
type Pair[T any] struct {
	running  T
	next     T
	previous *T // what a boot that fails goes back to (META tag 6)
	// unconfirmed: previous was there when the machine booted. META is read at boot alone (talos v1.13.0 internal/app/lifecycle/lifecycle.go
	// installs and does not read it again).
	unconfirmed bool
}

// New is a machine that runs an image.
func New[T any](running T) *Pair[T] { return &Pair[T]{running: running, next: running} }

// Running is the image that was booted last.
func (p *Pair[T]) Running() T { return p.running }

// Install writes an image to the disk and makes it the default of the next boot. What was the default before is kept, and nothing else: after
// a second installation the image that runs is gone (seen on Talos v1.13.0; talos v1.13.0 bootloader/sdboot/sdboot.go, Upgrade, and
// bootloader/grub/boot_label.go).
//
// keepsRunning: the installer keeps the image that runs instead (talos v1.14.0 bootloader/sdboot/sdboot.go, Upgrade).
func (p *Pair[T]) Install(image T, keepsRunning bool) {
	previous := p.next
	if keepsRunning {
		previous = p.running
	}
	p.previous, p.next = &previous, image
}

// Boot starts the default image.
func (p *Pair[T]) Boot() T {
	p.running, p.unconfirmed = p.next, p.previous != nil
	return p.running
}

// Next is the image of the next boot.
func (p *Pair[T]) Next() T { return p.next }

// CanRevert says that there is an image to go back to.
func (p *Pair[T]) CanRevert() bool { return p.previous != nil }

// Unconfirmed says that Talos shows META tag 6: it booted an upgrade that can still be taken back.
func (p *Pair[T]) Unconfirmed() bool { return p.unconfirmed }

// Confirm drops the fallback, once the machine runs and is ready (seen on Talos v1.13.0; talos v1.13.0 DropUpgradeFallbackController).
func (p *Pair[T]) Confirm() { p.previous, p.unconfirmed = nil, false }

// Revert makes the image from before the upgrade the default again, after a boot that failed
// (seen on Talos v1.13.0; talos v1.13.0 internal/app/machined/revert.go). False: there is nothing to go back to.
func (p *Pair[T]) Revert() bool {
	if p.previous == nil {
		return false
	}
	p.next, p.previous = *p.previous, nil
	return true
}
