// Package images is the registry of a real node: it makes images of this computer's programs when they are pulled.
package images

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/emulated"
	"talos-gpu/lab/machines/internal/spec"
)

// image is made on the spot, of one layer: nothing can be pulled.
type image struct {
	names *regexp.Regexp // names of the repositories with their tags, without host, that it stands for
	key   string         // key names what is kept of it
	// programs of the node's own, in /usr/bin; shell: a shell and what its scripts need, as far as this computer has them. They bring the
	// libraries that they are linked to, as does what more there is, by its path in the image.
	programs []string
	shell    bool
	more     map[string]string
	links    []string // paths that lead to emulatedProgram
	env      []string
	// entrypoint stays where a pod gives arguments alone; command is what it runs by default, or the arguments.
	entrypoint, command []string
	user                string // user it runs as. Default: root.
}

// bakedIn is what NVIDIA's CUDA images set: a pod on the nvidia runtime that requests nothing sees every card.
var bakedIn = []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}

// shellPrograms are what a script of ours needs; those that this computer has.
var shellPrograms = []string{"sh", "cat", "echo", "sleep", "ls", "mkdir", "rm", "cp", "mv", "touch", "test", "[", "true", "false", "grep", "sed", "head", "tail", "tr", "cut", "wc", "sort", "date",
	"env", "ln", "chmod", "stat", "id", "uname", "cmp", "printf", "seq", "dirname", "basename", "timeout", "mktemp", "readlink", "expr", "tee", "find", "awk", "mawk", "kill", "df", "du", "mount", "hostname", "bash", "ip"}

// onPath are programs of this computer, where they are in an image.
func onPath(names ...string) map[string]string {
	files := map[string]string{}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				files["/usr/bin/"+name] = real
			}
		}
	}
	return files
}

// files by their path in the image, each a path of this computer.
func (i image) files(spec *boot.Spec) (map[string]string, error) {
	files := map[string]string{}
	if i.shell {
		files = onPath(shellPrograms...)
	}
	for _, name := range i.programs {
		program, err := spec.Program(name)
		if err != nil {
			return nil, err
		}
		files["/usr/bin/"+path.Base(name)] = program
	}
	maps.Copy(files, i.more)
	return files, nil
}

// discovery is Node Feature Discovery of a minor release.
func discovery(minor string) image {
	folder := "node-feature-discovery-" + minor + "/"
	return image{names: regexp.MustCompile(`(^|/)node-feature-discovery:` + regexp.QuoteMeta(minor) + `\.`), key: "feature-discovery-" + minor,
		programs: []string{folder + "nfd-worker", folder + "nfd-master", folder + "nfd-gc"}, command: []string{"/usr/bin/nfd-worker"}, user: "65534:65534"}
}

// containerToolkit is the GPU Operator's: the installer that is the NRI plugin, and what it installs, by where the real image has it. libnvidia-container
// is not built: it does not begin without it, and CDI does not use it. The stand-in of a driver has no device numbers to make nodes by.
func containerToolkit(spec *boot.Spec) image {
	const folder, artifacts = "nvidia-toolkit-v1.20/", "/artifacts/deb/usr/"
	made := image{names: regexp.MustCompile(`(^|/)container-toolkit:`), key: "container-toolkit", shell: true, more: map[string]string{}, command: []string{"/usr/bin/nvidia-toolkit"},
		env: []string{"CREATE_DEVICE_NODES=none"}}
	for to, from := range map[string]string{
		"/usr/bin/nvidia-toolkit": "nvidia-ctk-installer", artifacts + "bin/nvidia-ctk": "nvidia-ctk", artifacts + "bin/nvidia-cdi-hook": "nvidia-cdi-hook",
		artifacts + "bin/nvidia-container-runtime": "nvidia-container-runtime", artifacts + "bin/nvidia-container-runtime.cdi": "nvidia-container-runtime",
		artifacts + "bin/nvidia-container-runtime.legacy": "nvidia-container-runtime", artifacts + "bin/nvidia-container-runtime-hook": "nvidia-container-runtime-hook",
	} {
		made.more[to], _ = spec.Program(folder + from)
	}
	needed := []string{
		"bin/nvidia-container-cli",
		"lib/x86_64-linux-gnu/libnvidia-container.so.1",
		"lib/x86_64-linux-gnu/libnvidia-container-go.so.1",
	}
	for _, missing := range needed {
		made.more[artifacts+missing] = spec.Built("pause")
	}
	return made
}

// nvidias are what NVIDIA's own programs are in, where only the driver is a stand-in.
func nvidias() []image {
	// The operator starts the plugin by `sh -c`: bash becomes what it starts, Debian's dash stays process 1 and hears no SIGTERM, so that each
	// end took 30 s.
	tools := onPath("sleep", "sh", "bash")
	tools["/usr/bin/sh"] = cmp.Or(tools["/usr/bin/bash"], tools["/usr/bin/sh"])
	return []image{
		{names: regexp.MustCompile(`(^|/)k8s-device-plugin:`), key: "device-plugin", programs: []string{"nvidia-device-plugin", "config-manager", "gpu-feature-discovery"}, more: tools,
			command: []string{"/usr/bin/nvidia-device-plugin"}, env: append([]string{"NVIDIA_DISABLE_REQUIRE=true"}, bakedIn...)},
		// As its image: a shell with what its scripts need, which there are busybox' (dra-driver-nvidia-gpu v0.5.0 deployments/container/Dockerfile).
		{names: regexp.MustCompile(`(^|/)dra-driver-nvidia-gpu:`), key: "dra-driver", shell: true, programs: []string{"gpu-kubelet-plugin", "kubelet-plugin-prestart.sh", "nvidia-dra-driver/nvidia-cdi-hook"},
			env: []string{"NVIDIA_DISABLE_REQUIRE=true", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"}},
	}
}

// imagesOf a node: what stands for what. The first that fits counts; what none fits is not there, as the node says then.
func imagesOf(spec *boot.Spec) []image {
	return append(nvidias(), []image{
		{
			names:   regexp.MustCompile(`(^|/)pause:`),
			key:     "pause",
			more:    map[string]string{"/pause": spec.Built("pause")},
			command: []string{"/pause"},
		},
		discovery("v0.17"), discovery("v0.18"), containerToolkit(spec),
		{
			names:   regexp.MustCompile(`(^|/)cuda(-sample)?:`),
			key:     "compute",
			shell:   true,
			more:    map[string]string{"/usr/bin/compute": spec.Built("compute")},
			command: []string{"/usr/bin/compute"},
			env:     bakedIn,
		},
		{
			names:   regexp.MustCompile(`(^|/)(busybox|alpine|ubuntu|debian):`),
			key:     "shell",
			shell:   true,
			command: []string{"sh"},
		},
	}...)
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
	made := image{
		key:   "emulated",
		shell: true,
		more:  map[string]string{emulatedProgram: self},
		links: within("/usr/bin/", emulated.Programs()),
		env:   env,
	}
	if made.command = rule.Entrypoint; len(rule.Programs) > 0 && len(rule.Entrypoint) > 0 { // else it is the shell's, which has none
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

// ServeVirtual is the registry of virtual machines: `FOLDER SERVICE CONTROLPLANE PROGRAMS...`, the last ones folders with the programs of
// a real node. It ends with its standard input, and says `{"port": N}`.
func ServeVirtual(arguments []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r := newRegistry(arguments[0], nvidias(), virtual{service: arguments[1], controlPlane: arguments[2]}.standsFor)
	r.compressed, r.spec = true, &boot.Spec{Folder: arguments[0], Node: spec.Node{Programs: arguments[3:]}}
	go func() { _ = http.Serve(listener, r) }()
	fmt.Printf("{\"port\": %d}\n", listener.Addr().(*net.TCPAddr).Port)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// virtual has the images of virtual machines: those of the emulated programs, with what stands in for more there. service is the
// program of lab/talos/programs, controlPlane that of lab/controlplane.
type virtual struct{ service, controlPlane string }

var (
	pause             = regexp.MustCompile(`/pause[:@]`)
	controlPlane      = regexp.MustCompile(`/(etcd|kube-apiserver|kube-controller-manager|kube-scheduler)[:@]`)
	network           = regexp.MustCompile(`/lab-network:`)
	discoveryReleases = regexp.MustCompile(`/node-feature-discovery[:@]`)
)

// standsFor makes the image of a reference. One layer has all emulated programs, so that it is unpacked once.
func (v virtual) standsFor(reference string) (image, bool) {
	made, known := standsFor(reference)
	switch {
	case pause.MatchString(reference):
		// Small: a sandbox has one, and the processor of a virtual machine may be an emulated one.
		return image{key: "pause", more: onPath("sleep"), command: []string{"/usr/bin/sleep", "infinity"}}, true
	case controlPlane.MatchString(reference):
		return image{key: "controlplane", more: map[string]string{emulatedProgram: v.service, "/usr/local/bin/controlplane": v.controlPlane},
			links: within("/usr/local/bin/", []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"})}, true
	case network.MatchString(reference):
		made, known = standsFor("busybox:1")
		made.entrypoint = []string{"lab-network"}
	case discoveryReleases.MatchString(reference):
		made.user = "65534:65534"
	}
	made.links = append(made.links, "/usr/bin/nvidia-smi", "/usr/bin/lab-network")
	return made, known
}
