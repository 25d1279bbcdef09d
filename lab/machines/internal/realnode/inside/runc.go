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
	var config map[string]json.RawMessage
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	linux := map[string]json.RawMessage{}
	if err := json.Unmarshal(config["linux"], &linux); err != nil {
		return err
	}
	delete(linux, "seccomp")
	if config["linux"], err = json.Marshal(linux); err != nil {
		return err
	}
	if standIn {
		hooks := map[string][]json.RawMessage{}
		if config["hooks"] != nil {
			if err := json.Unmarshal(config["hooks"], &hooks); err != nil {
				return err
			}
		}
		hook, err := json.Marshal(map[string]any{"path": "/usr/bin/runc", "args": []string{ProcCommand}})
		if err != nil {
			return err
		}
		hooks["createContainer"] = append(hooks["createContainer"], hook)
		if config["hooks"], err = json.Marshal(hooks); err != nil {
			return err
		}
	}
	if text, err = json.Marshal(config); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
