//go:build linux

// Package images is the registry of a real node: it makes images of this computer's programs when they are pulled.
package images

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/emulated"
)

// image is made on the spot, of one layer: nothing can be pulled.
type image struct {
	// names of the repositories with their tags, without host, that it stands for.
	names *regexp.Regexp
	// key names what is kept of it.
	key string
	// files by their path in the image, each a path of this computer. Programs bring the libraries that they are linked to.
	files func() (map[string]string, error)
	// links are paths that lead to emulatedProgram.
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
	"env", "ln", "chmod", "stat", "id", "uname", "cmp", "printf", "seq", "dirname", "basename", "timeout", "mktemp", "readlink", "expr", "tee", "find", "awk", "mawk", "kill", "df", "du", "mount", "hostname", "bash", "ip"}

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

// node whose images they are.
type node struct{ *boot.Spec }

// images of a node: what stands for what. The first that fits counts; what none fits is not there, as the node says then.
func (s node) images() []image {
	return []image{
		{names: regexp.MustCompile(`(^|/)pause:`), key: "pause", files: only(map[string]string{"/pause": s.Built("pause")}), command: []string{"/pause"}},
		{names: regexp.MustCompile(`(^|/)k8s-device-plugin:`), key: "device-plugin", files: s.pluginFiles, command: []string{"/usr/bin/nvidia-device-plugin"}, env: append([]string{"NVIDIA_DISABLE_REQUIRE=true"}, bakedIn...)},
		s.discoveryImage("v0.17"), s.discoveryImage("v0.18"),
		{names: regexp.MustCompile(`(^|/)cuda(-sample)?:`), key: "compute", files: withShell(map[string]string{"/usr/bin/compute": s.Built("compute")}), command: []string{"/usr/bin/compute"}, env: bakedIn},
		{names: regexp.MustCompile(`(^|/)(busybox|alpine|ubuntu|debian):`), key: "shell", files: withShell(nil), command: []string{"sh"}},
	}
}

// standsFor makes the image of a reference that this binary emulates; false where nothing is known of it. All of them share their files.
func standsFor(reference string) (image, bool) {
	rule, known := emulated.Of(reference)
	if !known {
		return image{}, false
	}
	env := []string{emulated.ImageVariable + "=" + reference}
	for _, variable := range rule.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	self, err := os.Executable()
	made := image{key: "emulated", files: withShell(map[string]string{emulatedProgram: self}), links: within("/usr/bin/", emulated.Programs()), env: env}
	if made.command = rule.Entrypoint; len(rule.Programs) > 0 { // else it is the shell's, which has none
		made.entrypoint, made.command = rule.Entrypoint[:1], rule.Entrypoint[1:]
	}
	return made, err == nil
}

// emulatedProgram is in an image what programs' names lead to: this binary, where they are emulated.
const emulatedProgram = "/usr/bin/talos-gpu-lab-program"

func within(folder string, names []string) []string {
	paths := slices.Clone(names)
	for i := range paths {
		paths[i] = folder + paths[i]
	}
	return paths
}

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
func (s node) discoveryImage(minor string) image {
	return image{
		names: regexp.MustCompile(`(^|/)node-feature-discovery:` + regexp.QuoteMeta(minor) + `\.`), key: "feature-discovery-" + minor, command: []string{"/usr/bin/nfd-worker"}, user: "65534:65534",
		files: func() (map[string]string, error) {
			files := map[string]string{}
			for _, name := range []string{"nfd-worker", "nfd-master", "nfd-gc"} {
				program, err := s.Program("node-feature-discovery-" + minor + "/" + name)
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
func (s node) programs(names ...string) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		files := map[string]string{}
		for _, name := range names {
			program, err := s.Program(name)
			if err != nil {
				return nil, err
			}
			files["/usr/bin/"+name] = program
		}
		return files, nil
	}
}

// pluginFiles are the device plugin's programs. The operator starts the plugin by `sh -c`: bash becomes what it starts, Debian's dash stays
// process 1 and hears no SIGTERM, so that each end took 30 s.
func (s node) pluginFiles() (map[string]string, error) {
	files, err := s.programs("nvidia-device-plugin", "config-manager", "gpu-feature-discovery")()
	if err != nil {
		return nil, err
	}
	tools := shell()
	files["/usr/bin/sleep"], files["/usr/bin/sh"] = tools["/usr/bin/sleep"], cmp.Or(tools["/usr/bin/bash"], tools["/usr/bin/sh"])
	return files, nil
}
