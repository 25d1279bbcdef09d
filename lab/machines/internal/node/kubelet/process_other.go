//go:build !linux

package kubelet

import "syscall"

// ownGroup starts a process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
