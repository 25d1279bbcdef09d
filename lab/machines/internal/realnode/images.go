//go:build linux

package realnode

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// image is made on the spot, of one layer: nothing can be pulled.
type image struct {
	// names by which manifests know it.
	names []string
	// files by their path in the image, each a path of this computer. Programs bring the libraries that they are linked to.
	files map[string]string
	// links by their path in the image.
	links map[string]string
	env   []string
	entry []string
	// command is what it runs when nobody says otherwise.
	command []string
}

// archive writes the image as `docker save` does.
func (i image) archive(path string) error {
	layer := &bytes.Buffer{}
	if err := i.layer(layer); err != nil {
		return err
	}
	sum := sha256.Sum256(layer.Bytes())
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, i.env...), "Entrypoint": i.entry, "Cmd": i.command},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": i.names, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := tar.NewWriter(file)
	for _, part := range []struct {
		name    string
		content []byte
	}{{"manifest.json", manifest}, {"config.json", config}, {"layer.tar", layer.Bytes()}} {
		if err := out.WriteHeader(&tar.Header{Name: part.name, Mode: 0o644, Size: int64(len(part.content))}); err != nil {
			return err
		}
		if _, err := out.Write(part.content); err != nil {
			return err
		}
	}
	return out.Close()
}

func (i image) layer(to *bytes.Buffer) error {
	files := map[string]string{}
	for inside, outside := range i.files {
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
	for inside, target := range i.links {
		links[strings.TrimPrefix(inside, "/")] = target
	}
	for inside, target := range links {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: inside, Linkname: target, Mode: 0o777}); err != nil {
			return err
		}
	}
	for inside, outside := range files {
		content, err := os.ReadFile(outside)
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Name: strings.TrimPrefix(inside, "/"), Mode: 0o755, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
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
			if path := filepath.Join(filepath.Dir(library), name); exists(path) {
				found = append(found, path)
			}
		}
	}
	return found
}

// shellPrograms are what a script of ours needs; those that this computer has.
var shellPrograms = []string{"sh", "cat", "echo", "sleep", "ls", "mkdir", "rm", "cp", "mv", "touch", "test", "[", "true", "false", "grep", "sed", "head", "tail", "tr", "cut", "wc", "sort", "date",
	"env", "ln", "chmod", "stat", "id", "uname", "cmp", "printf", "seq", "dirname", "basename", "timeout", "mktemp", "readlink", "expr", "tee", "find", "awk", "mawk", "kill", "df", "du", "mount", "hostname", "bash"}

func shell() map[string]string {
	files := map[string]string{}
	for _, name := range shellPrograms {
		if path, err := exec.LookPath(name); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				files["/usr/bin/"+name] = real
			}
		}
	}
	return files
}

// images of a node.
func (s *Spec) images() ([]image, error) {
	built := func(name string) string { return filepath.Join(s.Folder, "programs", name) }
	shellFiles := shell()
	withShell := func(more map[string]string) map[string]string {
		files := map[string]string{}
		for inside, outside := range shellFiles {
			files[inside] = outside
		}
		for inside, outside := range more {
			files[inside] = outside
		}
		return files
	}
	made := []image{{names: []string{pauseImage}, files: map[string]string{"/pause": built("pause")}, entry: []string{"/pause"}}}
	if len(s.ShellImages) > 0 {
		made = append(made, image{names: s.ShellImages, files: shellFiles, command: []string{"sh"}})
	}
	if len(s.ComputeImages) > 0 {
		made = append(made, image{names: s.ComputeImages, files: withShell(map[string]string{"/usr/bin/compute": built("compute")}), command: []string{"/usr/bin/compute"}})
	}
	if len(s.PluginImages) > 0 {
		files := map[string]string{}
		for _, name := range []string{"nvidia-device-plugin", "config-manager", "mps-control-daemon"} {
			program, err := s.program(name)
			if err != nil {
				return nil, err
			}
			files["/usr/bin/"+name] = program
		}
		for _, name := range []string{"tail", "sh", "mount"} { // the MPS daemon mounts its shared memory and follows a log
			if path := shellFiles["/usr/bin/"+name]; path != "" {
				files["/usr/bin/"+name] = path
			}
		}
		made = append(made, image{names: s.PluginImages, files: files, command: []string{"/usr/bin/nvidia-device-plugin"},
			env: []string{"NVIDIA_DISABLE_REQUIRE=true", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}})
	}
	return slices.Clip(made), nil
}
