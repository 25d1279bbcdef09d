//go:build linux

package images

import (
	"archive/tar"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"talos-gpu/lab/machines/internal/realnode/files"
)

// layer writes the image's files.
func (i image) layer(to io.Writer) error {
	own, err := i.files()
	if err != nil {
		return err
	}
	files := map[string]string{}
	for inside, outside := range own {
		files[inside] = outside
		libraries, err := librariesOf(outside)
		if err != nil {
			return err
		}
		if len(libraries) > 0 {
			libraries = append(libraries, driverNeeds(libraries)...)
		}
		for _, library := range libraries {
			if strings.HasPrefix(library, "/usr/") {
				files[library] = library
			} else {
				files["/usr"+library] = library
			}
		}
	}
	out := tar.NewWriter(to)
	for _, folder := range []string{"usr", "usr/bin", "usr/lib", "usr/lib64", "usr/local", "usr/local/bin", "etc", "tmp", "var", "run", "root", "dev", "proc", "sys"} {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755}); err != nil {
			return err
		}
	}
	links := map[string]string{"bin": "usr/bin", "sbin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "var/run": "../run"}
	for _, inside := range slices.Sorted(maps.Keys(links)) {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: inside, Linkname: links[inside], Mode: 0o777}); err != nil {
			return err
		}
	}
	for _, name := range i.links {
		delete(files, "/usr/bin/"+name)
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/" + name, Linkname: emulatedProgram, Mode: 0o777}); err != nil {
			return err
		}
	}
	for _, inside := range slices.Sorted(maps.Keys(files)) {
		if err := addFile(out, inside, files[inside]); err != nil {
			return err
		}
	}
	return out.Close()
}

func addFile(out *tar.Writer, inside, outside string) error {
	file, err := os.Open(outside)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: strings.TrimPrefix(inside, "/"), Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return err
}

var libraryLine = regexp.MustCompile(`(?:=>\s*)?(/\S+)\s+\(0x`)

// librariesOf lists the shared libraries of a program, none for a static one.
func librariesOf(program string) ([]string, error) {
	said, err := exec.Command("ldd", program).CombinedOutput()
	text := string(said)
	if strings.Contains(text, "not a dynamic executable") || strings.Contains(text, "statically linked") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %s", program, strings.TrimSpace(text))
	}
	var found []string
	for _, match := range libraryLine.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found, nil
}

// driverNeeds are libraries that NVIDIA's are linked to, beside the C library of a program: without them NVML is "not found".
func driverNeeds(libraries []string) []string {
	var found []string
	for _, library := range libraries {
		if filepath.Base(library) != "libc.so.6" {
			continue
		}
		for _, name := range []string{"libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6"} {
			if path := filepath.Join(filepath.Dir(library), name); files.Exists(path) {
				found = append(found, path)
			}
		}
	}
	return found
}
