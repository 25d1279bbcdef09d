//go:build !linux

package cri

import "syscall"

// ownGroup starts a process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
