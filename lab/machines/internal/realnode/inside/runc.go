//go:build linux

package inside

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// realRunc is runc itself, beside this binary under its name.
const realRunc = "/usr/bin/runc.real"

// Runc makes of a container's description what this computer can run, and goes on as runc.
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

// adapt takes the system call filter out: with libseccomp runc would need a library that no registry of ours serves. A container then may call more
// than on Talos; what is refused there for that reason alone is not seen here. Where the driver is a stand-in, a hook shows it in the container's /proc.
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
