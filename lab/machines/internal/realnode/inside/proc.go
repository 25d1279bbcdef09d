//go:build linux

package inside

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ProcCommand is the name under which this binary is a container's hook; see ShowDriver.
const ProcCommand = "real-node-proc"

// procDriver is where the kernel shows drivers, in every container's own /proc.
const procDriver = "/proc/driver"

// procMagic is the kind of the kernel's own /proc (linux include/uapi/linux/magic.h).
const procMagic = 0x9fa0

// standsIn says that a folder of /proc is not the kernel's.
func standsIn(folder string) bool {
	of := syscall.Statfs_t{}
	return syscall.Statfs(folder, &of) == nil && of.Type != procMagic
}

// ShowDriver shows the node's /proc/driver in a container that is made: a hook in its mount namespace, before its root is the container's, with the
// container's state on standard input (opencontainers/runtime-spec, config.md, createContainer).
func ShowDriver(state io.Reader) int {
	var container struct{ Bundle string }
	if err := json.NewDecoder(state).Decode(&container); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	target := filepath.Join(container.Bundle, "rootfs", procDriver)
	if _, err := os.Stat(target); err != nil {
		return 0 // a container without a /proc
	}
	if err := syscall.Mount(procDriver, target, "", syscall.MS_BIND, ""); err != nil {
		fmt.Fprintf(os.Stderr, "showing %s as %s: %v\n", procDriver, target, err)
		return 1
	}
	return 0
}
