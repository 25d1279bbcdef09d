//go:build !linux

// Package realnode runs a real node, which only Linux can.
package realnode

// Main handles nothing here.
func Main([]string) (handled bool, code int) { return false, 0 }
