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
	for _, programs := range [][]string{{"/bin/ls", "/bin/sh", script}, {"/bin/cat"}} {
		if linked, err := librariesOf(programs); err != nil || !strings.Contains(strings.Join(linked, " "), "libc.so.6") {
			t.Errorf("%v: %v, %v: no C library", programs, linked, err)
		}
	}
	if linked, err := librariesOf([]string{script}); err != nil || len(linked) > 0 {
		t.Errorf("a script is linked to %v, %v", linked, err)
	}
	if _, err := librariesOf([]string{"/bin/sh", "/nowhere/at/all"}); err == nil || !strings.Contains(err.Error(), "/nowhere/at/all") {
		t.Errorf("a program that is not there: %v", err)
	}
}
