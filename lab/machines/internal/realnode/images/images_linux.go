// Package images is the registry of a real node. It makes images from this computer's programs when they are pulled.
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

// image describes an image of one layer that the registry makes, because nothing can be pulled.
type image struct {
	names *regexp.Regexp // repositories and tags, without host, that the image replaces
	key   string         // the name of the image's stored files
	// programs are programs of the node, in /usr/bin. With shell, the image has a shell and the programs that its
	// scripts need, if this computer has them. more has other files, by their path in the image. All these files bring
	// the libraries to which they are linked.
	programs []string
	shell    bool
	more     map[string]string
	links    []string // paths that link to emulatedProgram
	env      []string
	// entrypoint stays if a pod sets only arguments. command is the default command, or the default arguments.
	entrypoint, command []string
	user                string // the user that it runs as; default root
}

// bakedIn are the variables of NVIDIA's CUDA images. With them, a pod with the nvidia runtime that requests nothing
// sees every card.
var bakedIn = []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}

// shellPrograms are the programs that scripts need. An image has those that this computer has.
var shellPrograms = []string{"sh", "cat", "echo", "sleep", "ls", "mkdir", "rm", "cp", "mv", "touch", "test", "[", "true", "false", "grep", "sed", "head", "tail", "tr", "cut", "wc", "sort", "date",
	"env", "ln", "chmod", "stat", "id", "uname", "cmp", "printf", "seq", "dirname", "basename", "timeout", "mktemp", "readlink", "expr", "tee", "find", "awk", "mawk", "kill", "df", "du", "mount", "hostname", "bash", "ip"}

// onPath returns the paths of this computer's programs, by their path in an image.
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

// files returns the image's files: the path on this computer, by the path in the image.
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

// discovery returns the image of a minor release of Node Feature Discovery.
func discovery(minor string) image {
	folder := "node-feature-discovery-" + minor + "/"
	return image{names: regexp.MustCompile(`(^|/)node-feature-discovery:` + regexp.QuoteMeta(minor) + `\.`), key: "feature-discovery-" + minor,
		programs: []string{folder + "nfd-worker", folder + "nfd-master", folder + "nfd-gc"}, command: []string{"/usr/bin/nfd-worker"}, user: "65534:65534"}
}

// containerToolkit returns the image of the GPU Operator's toolkit. It has the installer, which is also the NRI plugin,
// and what it installs, at the paths of the real image. libnvidia-container is not built. The installer does not start
// without these files, so other files replace them, and CDI does not use them. The simulated driver has no device
// numbers for device nodes.
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

// nvidias returns the images of NVIDIA's real programs. With them only the driver is simulated.
func nvidias() []image {
	// The operator starts the plugin with `sh -c`. bash replaces itself with that program. Debian's dash stays process
	// 1 and does not react to SIGTERM, so each end took 30 s.
	tools := onPath("sleep", "sh", "bash")
	tools["/usr/bin/sh"] = cmp.Or(tools["/usr/bin/bash"], tools["/usr/bin/sh"])
	return []image{
		{names: regexp.MustCompile(`(^|/)k8s-device-plugin:`), key: "device-plugin", programs: []string{"nvidia-device-plugin", "config-manager", "gpu-feature-discovery"}, more: tools,
			command: []string{"/usr/bin/nvidia-device-plugin"}, env: append([]string{"NVIDIA_DISABLE_REQUIRE=true"}, bakedIn...)},
		// Like the real image, it has a shell with the programs that its scripts need. In the real image they are
		// busybox' (dra-driver-nvidia-gpu v0.5.0 deployments/container/Dockerfile).
		{names: regexp.MustCompile(`(^|/)dra-driver-nvidia-gpu:`), key: "dra-driver", shell: true, programs: []string{"gpu-kubelet-plugin", "kubelet-plugin-prestart.sh", "nvidia-dra-driver/nvidia-cdi-hook"},
			env: []string{"NVIDIA_DISABLE_REQUIRE=true", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"}},
	}
}

// imagesOf returns the images of a node. The first match applies. Without a match the registry reports that the image
// does not exist.
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

// standsFor returns the image of a reference whose programs this binary emulates, or false for an unknown reference.
// All these images share their files.
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
	// Without programs the shell runs, and the image has no entrypoint.
	if made.command = rule.Entrypoint; len(rule.Programs) > 0 && len(rule.Entrypoint) > 0 {
		made.entrypoint, made.command = rule.Entrypoint[:1], rule.Entrypoint[1:]
	}
	return made, err == nil
}

// emulatedProgram is this binary in an image. The names of emulated programs link to it.
const emulatedProgram = "/usr/bin/talos-gpu-lab-program"

func within(folder string, names []string) []string {
	paths := slices.Clone(names)
	for i := range paths {
		paths[i] = folder + paths[i]
	}
	return paths
}

// ServeVirtual is the registry of virtual machines. Its arguments are `FOLDER SERVICE CONTROLPLANE PROGRAMS...`; the
// last ones are folders with the programs of a real node. It prints `{"port": N}`, and ends when its standard input
// closes.
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

// virtual has the images of virtual machines: those of the emulated programs, and images that only virtual machines
// need. service is the program of lab/talos/programs, and controlPlane that of lab/controlplane.
type virtual struct{ service, controlPlane string }

var (
	pause             = regexp.MustCompile(`/pause[:@]`)
	controlPlane      = regexp.MustCompile(`/(etcd|kube-apiserver|kube-controller-manager|kube-scheduler)[:@]`)
	network           = regexp.MustCompile(`/lab-network:`)
	discoveryReleases = regexp.MustCompile(`/node-feature-discovery[:@]`)
)

// standsFor returns the image of a reference. One layer has all emulated programs, so that it is unpacked once.
func (v virtual) standsFor(reference string) (image, bool) {
	made, known := standsFor(reference)
	switch {
	case pause.MatchString(reference):
		// The image is small, because every sandbox uses it and a virtual machine's processor may be emulated.
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
