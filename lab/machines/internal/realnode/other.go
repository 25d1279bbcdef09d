//go:build !linux

// Package realnode runs a real node, which only Linux can.
package realnode

import (
	"context"
	"errors"

	"talos-gpu/lab/machines/internal/host"
)

// Main handles nothing here.
func Main([]string) (handled bool, code int) { return false, 0 }

// Follow fails here.
func Follow(context.Context, Config, host.Machine) error {
	return errors.New("a real node needs Linux; leave --machines node out")
}
