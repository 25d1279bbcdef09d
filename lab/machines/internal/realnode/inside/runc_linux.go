package inside

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// realRunc is the path of the real runc. This binary has runc's name.
const realRunc = "/usr/bin/runc.real"

// Runc adapts a container's specification to this computer, and then executes runc.
func Runc(arguments []string) int {
	if slices.Contains(arguments, "create") || slices.Contains(arguments, "run") {
		if err := adapt(bundleOf(arguments), standsIn(procDriver)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	err := syscall.Exec(realRunc, append([]string{"runc"}, arguments[1:]...), os.Environ())
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func bundleOf(arguments []string) string {
	for i, argument := range arguments {
		if (argument == "--bundle" || argument == "-b") && i+1 < len(arguments) {
			return arguments[i+1]
		}
		if value, found := strings.CutPrefix(argument, "--bundle="); found {
			return value
		}
	}
	return "."
}

// adapt removes the system call filter, because runc with libseccomp would need a library that no registry of the lab
// has. So a container may make more system calls than on Talos, and tests here miss failures that the filter causes.
// With a simulated driver, adapt adds a hook that shows it in the container's /proc.
func adapt(bundle string, standIn bool) error {
	path := filepath.Join(bundle, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	config := specs.Spec{}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	config.Linux.Seccomp = nil
	if standIn {
		if config.Hooks == nil {
			config.Hooks = &specs.Hooks{}
		}
		config.Hooks.CreateContainer = append(config.Hooks.CreateContainer, specs.Hook{Path: "/usr/bin/runc", Args: []string{ProcCommand}})
	}
	if text, err = json.Marshal(config); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// ProcCommand is the name of this binary as a container's hook; see ShowDriver.
const ProcCommand = "real-node-proc"

// procDriver is where the kernel shows drivers, in every container's /proc.
const procDriver = "/proc/driver"

// procMagic is the type of the kernel's /proc (linux include/uapi/linux/magic.h).
const procMagic = 0x9fa0

// standsIn reports whether a folder of /proc is not the kernel's.
func standsIn(folder string) bool {
	of := syscall.Statfs_t{}
	return syscall.Statfs(folder, &of) == nil && of.Type != procMagic
}

// ShowDriver shows the node's /proc/driver in a new container. It is a hook in the container's mount namespace, before
// the root changes to the container's. Its standard input is the container's state (opencontainers/runtime-spec,
// config.md, createContainer).
func ShowDriver(state io.Reader) int {
	var container struct{ Bundle string }
	if err := json.NewDecoder(state).Decode(&container); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	target := filepath.Join(container.Bundle, "rootfs", procDriver)
	if _, err := os.Stat(target); err != nil {
		return 0 // a container without /proc
	}
	if err := syscall.Mount(procDriver, target, "", syscall.MS_BIND, ""); err != nil {
		fmt.Fprintf(os.Stderr, "showing %s as %s: %v\n", procDriver, target, err)
		return 1
	}
	return 0
}
