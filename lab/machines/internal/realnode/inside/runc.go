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
)

// realRunc is runc itself, beside this binary under its name.
const realRunc = "/usr/bin/runc.real"

// Runc takes the system call filter out of a container's description and goes on as runc: with libseccomp runc would need a library that
// no registry of ours serves. A container then may call more than on Talos; what is refused there for that reason alone is not seen here.
func Runc(arguments []string) int {
	if slices.Contains(arguments, "create") || slices.Contains(arguments, "run") {
		if err := dropSeccomp(bundleOf(arguments)); err != nil {
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

func dropSeccomp(bundle string) error {
	path := filepath.Join(bundle, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	var linux map[string]json.RawMessage
	if err := json.Unmarshal(config["linux"], &linux); err != nil || linux["seccomp"] == nil {
		return err
	}
	delete(linux, "seccomp")
	if config["linux"], err = json.Marshal(linux); err != nil {
		return err
	}
	if text, err = json.Marshal(config); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
