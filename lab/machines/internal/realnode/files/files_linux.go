// Package files installs files on the node, and reports what this process may do as root. In a container, root may lack
// a capability.
package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Bind shows a file at another path.
func Bind(source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	_ = os.Remove(target)
	if err := os.WriteFile(target, nil, 0o755); err != nil {
		return err
	}
	return Mount(source, target, "", syscall.MS_BIND, "")
}

// Mount mounts something over a folder or file. It makes a missing folder.
func Mount(source, target, kind string, flags uintptr, options string) error {
	_ = os.MkdirAll(target, 0o755)
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", source, target, err)
	}
	return nil
}

// Write writes a file and makes its folder.
func Write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Exists reports whether a path exists.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Copy copies a file into a folder. It copies a link as a link to a name in the same folder.
func Copy(path, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	target := filepath.Join(folder, filepath.Base(path))
	_ = os.Remove(target)
	if to, err := os.Readlink(path); err == nil {
		return os.Symlink(filepath.Base(to), target)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(target, text, 0o755)
}

// Numbers of capabilities (capability.h).
const (
	capSysAdmin    = 21
	capSysResource = 24
)

// MayLowerScores reports whether this process may lower OOM scores, so that the kernel spares a container when memory
// runs out. Containers of guaranteed pods have a lower score.
func MayLowerScores() bool { return may(capSysResource) }

// MayAdminister reports whether this process may change settings of cards (open-gpu-kernel-modules, NV_IS_SUSER).
func MayAdminister() bool { return may(capSysAdmin) }

// may reports whether this process has a capability.
func may(capability int) bool {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var set uint64
		if _, err := fmt.Sscanf(line, "CapEff: %x", &set); err == nil {
			return set&(1<<capability) != 0
		}
	}
	return false
}
