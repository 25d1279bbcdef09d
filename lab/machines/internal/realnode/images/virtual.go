//go:build linux

package images

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
)

// ServeVirtual is the registry of virtual machines: `FOLDER SERVICE CONTROLPLANE`, until its standard input ends. It says `{"port": N}`.
func ServeVirtual(arguments []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r := newRegistry(arguments[0], nil, virtual{service: arguments[1], controlPlane: arguments[2]}.standsFor)
	r.compressed = true
	go func() { _ = http.Serve(listener, r) }()
	fmt.Printf("{\"port\": %d}\n", listener.Addr().(*net.TCPAddr).Port)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// virtual has the images of virtual machines: those of the emulated programs, with what stands in for more there. service is the
// program of lab/talos/programs, controlPlane that of lab/controlplane.
type virtual struct{ service, controlPlane string }

const plugin = "/usr/bin/nvidia-device-plugin"

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
	if known {
		made.links = append(slices.DeleteFunc(made.links, func(path string) bool { return path == plugin }), "/usr/bin/nvidia-smi", "/usr/bin/lab-network")
		made.more[plugin] = v.service // the machine's own kubelet asks it
	}
	return made, known
}
