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
	"sync"

	"talos-gpu/lab/machines/internal/realnode/files"
)

// layer writes the image's files.
func (i image) layer(to io.Writer) error {
	own, err := i.files()
	if err != nil {
		return err
	}
	linked, err := librariesOf(slices.Sorted(maps.Values(own)))
	if err != nil {
		return err
	}
	files := map[string]string{}
	for inside, outside := range own {
		files[inside] = outside
		libraries := linked[outside]
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
	for _, inside := range i.links {
		delete(files, inside)
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: strings.TrimPrefix(inside, "/"), Linkname: emulatedProgram, Mode: 0o777}); err != nil {
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

// known are the shared libraries of programs that some image has already, by program: images share most of theirs.
var known = struct {
	sync.Mutex
	libraries map[string][]string
}{libraries: map[string][]string{}}

// librariesOf lists the shared libraries of each program, none for a static one. It asks for all that are new at once: ldd is a
// shell's script, and starting it costs more than what it does.
func librariesOf(programs []string) (map[string][]string, error) {
	known.Lock()
	defer known.Unlock()
	var unknown []string
	for _, program := range slices.Compact(programs) {
		if _, ok := known.libraries[program]; !ok {
			unknown = append(unknown, program)
		}
	}
	if len(unknown) > 0 {
		found, err := ldd(unknown)
		if err != nil {
			return nil, err
		}
		maps.Copy(known.libraries, found)
	}
	linked := map[string][]string{}
	for _, program := range programs {
		linked[program] = known.libraries[program]
	}
	return linked, nil
}

// ldd asks for several programs. Of more than one it says each one's name in a line before its libraries.
func ldd(programs []string) (map[string][]string, error) {
	said, failure := exec.Command("ldd", append(programs, "/bin/sh")...).CombinedOutput() // never of one alone
	found := map[string][]string{}
	about := ""
	for line := range strings.Lines(string(said)) {
		line = strings.TrimRight(line, "\n")
		name, isHead := strings.CutSuffix(line, ":")
		switch {
		case isHead && (slices.Contains(programs, name) || name == "/bin/sh"):
			about = name
			found[about] = []string{}
		case about == "":
			return nil, fmt.Errorf("ldd %s: %w", line, failure)
		case strings.Contains(line, "not a dynamic executable") || strings.Contains(line, "statically linked"):
		default:
			for _, match := range libraryLine.FindAllStringSubmatch(line, -1) {
				found[about] = append(found[about], match[1])
			}
			if strings.HasPrefix(line, "ldd:") {
				return nil, fmt.Errorf("%s", line)
			}
		}
	}
	for _, program := range programs {
		if _, ok := found[program]; !ok {
			return nil, fmt.Errorf("ldd said nothing of %s: %w", program, failure)
		}
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
