// Package slots is a machine's A/B scheme: an upgrade goes to the slot that doesn't run, and counts only once the machine
// has come up from it.
package slots

// Pair is the two slots of a machine. T is the image in a slot.
type Pair[T any] struct {
	running  T
	next     T
	previous *T // what to fall back to while an upgrade is unconfirmed (talos: META tag "upgrade")
}

// New is a machine that runs an image.
func New[T any](running T) *Pair[T] {
	return &Pair[T]{running: running, next: running}
}

// Running is the image that was booted last.
func (p *Pair[T]) Running() T { return p.running }

// Install writes an image to the other slot and makes it the default of the next boot
// (talos v1.13.0 cmd/installer/pkg/install/install.go).
func (p *Pair[T]) Install(image T) {
	previous := p.running
	p.previous = &previous
	p.next = image
}

// Boot starts the default slot.
func (p *Pair[T]) Boot() T {
	p.running = p.next

	return p.running
}

// Next is the image of the next boot.
func (p *Pair[T]) Next() T { return p.next }

// Unconfirmed says that the last upgrade can still be taken back.
func (p *Pair[T]) Unconfirmed() bool { return p.previous != nil }

// Confirm drops the fallback, once the machine runs and is ready (talos v1.13.0 DropUpgradeFallbackController).
func (p *Pair[T]) Confirm() { p.previous = nil }

// Revert makes the slot from before the upgrade the default again, after a boot that failed
// (talos v1.13.0 internal/app/machined/revert.go). False: there is nothing to go back to.
func (p *Pair[T]) Revert() bool {
	if p.previous == nil {
		return false
	}

	p.next = *p.previous
	p.previous = nil

	return true
}
