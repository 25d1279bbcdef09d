//go:build linux

// Package files puts files where the node has them.
package files

import (
	"fmt"
	"os"
	"path/filepath"
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

// Mount mounts something over a folder or file; a folder need not be there.
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

// Exists says that something is there.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Copy copies a file, or a link as a link to the name beside it.
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
