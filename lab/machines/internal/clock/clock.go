// Package clock scales time: in the lab everything takes its time, but the time passes faster.
package clock

import (
	"context"
	"time"
)

// Clock maps lab time to real time.
type Clock struct {
	start time.Time
	scale float64
}

// New starts a clock on which scale lab seconds pass in a real second.
func New(scale float64) *Clock {
	return &Clock{start: time.Now(), scale: scale}
}

// Now returns the lab seconds since the start.
func (c *Clock) Now() float64 {
	return time.Since(c.start).Seconds() * c.scale
}

// Real returns the real time that a duration of lab time takes.
func (c *Clock) Real(lab time.Duration) time.Duration {
	return time.Duration(float64(lab) / c.scale)
}

// Sleep waits for a duration of lab time.
func (c *Clock) Sleep(ctx context.Context, lab time.Duration) error {
	timer := time.NewTimer(c.Real(lab))
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
