//go:build linux

package realnode

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

	"talos-gpu/lab/machines/internal/nvidia/operator"
)

// image is made on the spot, of one layer: nothing can be pulled.
type image struct {
	// names of the repositories with their tags, without host, that it stands for.
	names *regexp.Regexp
	// key names what is kept of it.
	key string
	// files by their path in the image, each a path of this computer. Programs bring the libraries that they are linked to.
	files func() (map[string]string, error)
	// links are programs that lead to emulatedProgram.
	links []string
	env   []string
	// entrypoint stays where a pod gives arguments alone; command is what it runs, or the arguments, when nobody says otherwise.
	entrypoint, command []string
	// user it runs as. Default: root.
	user string
}

// bakedIn is what NVIDIA's CUDA images set: a pod on the nvidia runtime that requests nothing sees every card.
var bakedIn = []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}

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

// images of a node: what stands for what. The first that fits counts; what none fits is not there, as the node says then.
func (s *Spec) images() []image {
	return []image{
		{names: regexp.MustCompile(`(^|/)pause:`), key: "pause", files: only(map[string]string{"/pause": s.built("pause")}), command: []string{"/pause"}},
		{names: regexp.MustCompile(`(^|/)k8s-device-plugin:`), key: "device-plugin", files: s.pluginFiles, command: []string{"/usr/bin/nvidia-device-plugin"}, env: append([]string{"NVIDIA_DISABLE_REQUIRE=true"}, bakedIn...)},
		s.discoveryImage("v0.17"), s.discoveryImage("v0.18"),
		{names: regexp.MustCompile(`(^|/)cuda(-sample)?:`), key: "compute", files: withShell(map[string]string{"/usr/bin/compute": s.built("compute")}), command: []string{"/usr/bin/compute"}, env: bakedIn},
		{names: regexp.MustCompile(`(^|/)(busybox|alpine|ubuntu|debian):`), key: "shell", files: withShell(nil), command: []string{"sh"}},
	}
}

// standsFor makes the image of a reference that this binary emulates; false where nothing is known of it.
func (s *Spec) standsFor(reference string) (image, bool) {
	rule, known := ruleOf(emulation(operator.New(nil, nil)), reference)
	if !known {
		return image{}, false
	}
	env := []string{imageVariable + "=" + reference}
	for _, variable := range rule.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	self, err := os.Executable()
	files := func() (map[string]string, error) { return withShell(map[string]string{emulatedProgram: self})() }
	names := namesOf(rule)
	return image{key: "emulated-" + strings.Join(names, "-"), files: files, links: names, env: env, entrypoint: rule.Entrypoint[:1], command: rule.Entrypoint[1:]}, err == nil
}

// emulatedProgram is this binary in an image; the programs' names lead to it.
const emulatedProgram = "/usr/bin/talos-gpu-lab-program"

// built is a program that was built from C.
func (s *Spec) built(name string) string { return filepath.Join(s.Folder, "programs", name) }

func only(files map[string]string) func() (map[string]string, error) {
	return func() (map[string]string, error) { return files, nil }
}

func withShell(more map[string]string) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		files := shell()
		maps.Copy(files, more)
		return files, nil
	}
}

// discoveryImage is Node Feature Discovery of a minor release.
func (s *Spec) discoveryImage(minor string) image {
	return image{
		names: regexp.MustCompile(`(^|/)node-feature-discovery:` + regexp.QuoteMeta(minor) + `\.`), key: "feature-discovery-" + minor, command: []string{"/usr/bin/nfd-worker"}, user: "65534:65534",
		files: func() (map[string]string, error) {
			files := map[string]string{}
			for _, name := range []string{"nfd-worker", "nfd-master", "nfd-gc"} {
				program, err := s.program("node-feature-discovery-" + minor + "/" + name)
				if err != nil {
					return nil, err
				}
				files["/usr/bin/"+name] = program
			}
			return files, nil
		},
	}
}

// programs are some of the node's own.
func (s *Spec) programs(names ...string) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		files := map[string]string{}
		for _, name := range names {
			program, err := s.program(name)
			if err != nil {
				return nil, err
			}
			files["/usr/bin/"+name] = program
		}
		return files, nil
	}
}

// pluginFiles are the device plugin's programs, and what its MPS daemon calls: it mounts its shared memory and follows a log.
func (s *Spec) pluginFiles() (map[string]string, error) {
	files, err := s.programs("nvidia-device-plugin", "config-manager", "mps-control-daemon", "gpu-feature-discovery")()
	if err != nil {
		return nil, err
	}
	tools := shell()
	for _, name := range []string{"tail", "sh", "mount", "sleep"} {
		if path := tools["/usr/bin/"+name]; path != "" {
			files["/usr/bin/"+name] = path
		}
	}
	return files, nil
}

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
			if path := filepath.Join(filepath.Dir(library), name); exists(path) {
				found = append(found, path)
			}
		}
	}
	return found
}
