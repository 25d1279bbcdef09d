package host

import (
	"context"
	"time"

	"talos-gpu/lab/machines/internal/clock"
)

// A failed controller restarts after half a second. Each further delay is 1.5 times as long, up to a minute
// (cosi-project/runtime pkg/controller/runtime/internal/rruntime/run.go; cenkalti/backoff v4, defaults).
const (
	firstRestart = 500 * time.Millisecond
	lastRestart  = time.Minute
)

// Loop runs the step of one of Talos' controllers after each change.
type Loop struct{ wake chan struct{} }

// NewLoop makes a loop that waits for its first change.
func NewLoop() Loop { return Loop{wake: make(chan struct{}, 1)} }

// Changed wakes the loop.
func (l Loop) Changed() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run runs the step after each change, until ctx ends. A step that fails is reported, and runs again after a delay.
func (l Loop) Run(ctx context.Context, clock *clock.Clock, step func() error, report func(error)) {
	for delay := firstRestart; ; {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		err := step()
		if err == nil {
			delay = firstRestart
			continue
		}
		if ctx.Err() == nil {
			report(err)
		}
		if clock.Sleep(ctx, delay) != nil {
			return
		}
		delay = min(delay*3/2, lastRestart)
		l.Changed()
	}
}

// EachBoot runs what start returns in every boot of a machine whose kubelet runs, and wakes the loop after every change
// of the machine.
func (l Loop) EachBoot(ctx context.Context, machine Machine, start func() (run func(context.Context), err error)) error {
	return EachBoot(ctx, machine, func(Snapshot) (changed, stop func(), err error) {
		run, err := start()
		if err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			run(ctx)
		}()
		return l.Changed, func() { cancel(); <-ended }, nil
	})
}
