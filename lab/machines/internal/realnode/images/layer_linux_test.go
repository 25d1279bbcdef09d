package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLibrariesOfPrograms(t *testing.T) {
	if _, err := os.Stat("/usr/bin/ldd"); err != nil {
		t.Skip("this computer has no ldd")
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
		t.Errorf("a missing program: %v", err)
	}
}

func TestProgramsOfAnImageAreTheirOwnFiles(t *testing.T) {
	var layer bytes.Buffer
	if err := (image{more: map[string]string{emulatedProgram: "/bin/true"}, links: []string{"/usr/bin/nvidia-smi"}}).layer(nil, &layer); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]byte{}
	for in := tar.NewReader(&layer); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if kinds[header.Name] = header.Typeflag; header.Typeflag == tar.TypeLink && kinds[header.Linkname] != tar.TypeReg {
			t.Errorf("%s links to %s, which does not come before it", header.Name, header.Linkname)
		}
	}
	if kinds["usr/bin/nvidia-smi"] != tar.TypeLink {
		t.Errorf("nvidia-smi has type %c: a mount over it would cover the program", kinds["usr/bin/nvidia-smi"])
	}
}
