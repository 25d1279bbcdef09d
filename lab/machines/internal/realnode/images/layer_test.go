//go:build linux

package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLibrariesOfPrograms(t *testing.T) {
	if _, err := os.Stat("/usr/bin/ldd"); err != nil {
		t.Skip("no ldd here")
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from memory
		linked, err := librariesOf([]string{"/bin/ls", "/bin/sh", script})
		if err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{"/bin/ls", "/bin/sh"} {
			if !strings.Contains(strings.Join(linked[program], " "), "libc.so.6") {
				t.Errorf("%s: %v has no C library", program, linked[program])
			}
		}
		if len(linked[script]) != 0 {
			t.Errorf("a script is linked to %v", linked[script])
		}
	}
	one, err := librariesOf([]string{"/bin/cat"})
	if err != nil || len(one["/bin/cat"]) == 0 {
		t.Errorf("one program alone: %v, %v", one, err)
	}
	if _, err := librariesOf([]string{"/bin/sh", "/nowhere/at/all"}); err == nil || !strings.Contains(err.Error(), "/nowhere/at/all") {
		t.Errorf("a program that is not there: %v", err)
	}
}
