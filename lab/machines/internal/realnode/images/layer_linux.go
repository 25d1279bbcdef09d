package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
)

// layer writes the image's files and the libraries to which they are linked.
func (i image) layer(spec *boot.Spec, to io.Writer) error {
	files, err := i.files(spec)
	if err != nil {
		return err
	}
	libraries, err := librariesOf(slices.Collect(maps.Values(files)))
	if err != nil {
		return err
	}
	for _, library := range libraries {
		files["/usr"+strings.TrimPrefix(library, "/usr")] = library
	}
	out := tar.NewWriter(to)
	var frame []tar.Header
	for _, folder := range []string{"usr", "usr/bin", "usr/lib", "usr/lib64", "usr/local", "usr/local/bin", "etc", "tmp", "var", "run", "root", "dev", "proc", "sys"} {
		frame = append(frame, tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755})
	}
	links := map[string]string{"bin": "usr/bin", "sbin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "var/run": "../run"}
	for _, inside := range slices.Sorted(maps.Keys(links)) {
		frame = append(frame, tar.Header{Typeflag: tar.TypeSymlink, Name: inside, Linkname: links[inside], Mode: 0o777})
	}
	for _, header := range frame {
		if err := out.WriteHeader(&header); err != nil {
			return err
		}
	}
	for _, inside := range slices.Sorted(maps.Keys(files)) {
		if err := addFile(out, inside, files[inside]); err != nil {
			return err
		}
	}
	// Links come last, because they replace files of the same names. They are hard links. With a symbolic link, a mount
	// over it would cover the program, e.g. CDI's mount of nvidia-smi.
	for _, inside := range i.links {
		if err := out.WriteHeader(&tar.Header{
			Typeflag: tar.TypeLink,
			Name:     inside[1:],
			Linkname: emulatedProgram[1:],
			Mode:     0o755,
		}); err != nil {
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
	if err := out.WriteHeader(&tar.Header{
		Name: strings.TrimPrefix(inside, "/"),
		Mode: 0o755,
		Size: info.Size(),
	}); err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return err
}

var libraryLine = regexp.MustCompile(`(?:=>\s*)?(/\S+)\s+\(0x`)

// librariesOf returns the shared libraries of programs. A static program or a script has none.
func librariesOf(programs []string) (libraries []string, err error) {
	said, failure := exec.Command("ldd", programs...).CombinedOutput() // it fails if a program has no libraries
	if len(said) == 0 && failure != nil {
		return nil, fmt.Errorf("ldd: %w", failure)
	}
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "ldd: ") && !strings.HasPrefix(line, "ldd: warning") {
			return nil, errors.New(strings.TrimSpace(line))
		}
		for _, match := range libraryLine.FindAllStringSubmatch(line, -1) {
			libraries = append(libraries, match[1])
		}
	}
	return append(libraries, driverNeeds(libraries)...), nil
}

// driverNeeds returns libraries that NVIDIA's libraries need in addition to a program's C library. Without them NVML is
// "not found".
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
