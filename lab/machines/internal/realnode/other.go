//go:build !linux

// Package realnode runs a real node, which is possible only on Linux.
package realnode

import (
	"context"
	"errors"

	"talos-gpu/lab/machines/internal/host"
)

// Main handles nothing on this system.
func Main([]string) (handled bool, code int) { return false, 0 }

// Follow fails on this system.
func Follow(context.Context, Config, host.Machine) error {
	return errors.New("a real node needs Linux; leave --machines node out")
}
