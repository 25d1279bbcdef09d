// Package files puts files where the node has them, and says what this process may do as root: in a container root may lack a right.
package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Bind shows a file under another name.
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

// Mount mounts something over a folder or file; it makes a missing folder.
func Mount(source, target, kind string, flags uintptr, options string) error {
	_ = os.MkdirAll(target, 0o755)
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", source, target, err)
	}
	return nil
}

// Write makes a file and its folder.
func Write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Exists says that something exists at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Copy copies a file, or a link as a link to the name next to it.
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

// MayLowerScores says whether containers may be spared by the kernel when memory runs out, as those of guaranteed pods are.
func MayLowerScores() bool { return may(capSysResource) }

// MayAdminister says whether this process may change settings of cards (open-gpu-kernel-modules, NV_IS_SUSER).
func MayAdminister() bool { return may(capSysAdmin) }

// may says whether this process has a capability.
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
