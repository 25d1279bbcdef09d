// Package programs is a table of what the containers of an image do on a node: how they end, and what they log. An
// emulated node takes the outcome of its containers from this table. In the containers of a real node, the same
// programs replace images that are in no registry.
package programs

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// Exit codes of programs that a signal ended (128 + signal).
const (
	ExitKilled     = 137
	ExitTerminated = 143
)

// Container is what a program knows about its container.
type Container struct {
	Pod     *corev1.Pod
	Spec    *corev1.Container
	Machine host.Machine
	Argv    []string
	// Env is the environment from the image, the device plugin and the pod. Variables of the pod without a literal
	// value are absent.
	Env map[string]string
	// GPUs are the container's cards. Libraries says whether the container has NVIDIA's libraries and nvidia-smi.
	GPUs         []gpu.Card
	Libraries    bool
	SharedMemory int64 // the size of the container's /dev/shm, in bytes
	Output       io.Writer
	Message      string                            // what the program writes to /dev/termination-log
	Root         string                            // the folder that has the machine's /run/nvidia
	Read         func(path string) ([]byte, error) // reads a file of the container
	// Devices is the kubelet's device manager. It is nil on a real node, which has a real device plugin.
	Devices *devices.Manager
	Client  kubernetes.Interface // has the rights of the node's kubelet; nil on a real node
	Ready   func()               // tells the emulated kubelet that probes now succeed
	// Listen opens a port of the container if the container has a real network. Otherwise it is nil.
	Listen func(port int) (net.Listener, error)
}

// Logf writes a line to the container's log.
func (c *Container) Logf(format string, args ...any) { fmt.Fprintf(c.Output, format+"\n", args...) }

// Fails logs the reason, and returns exit code 1.
func (c *Container) Fails(format string, args ...any) int {
	c.Logf(format, args...)
	return 1
}

// Rests makes the container ready, and waits until ctx ends.
func (c *Container) Rests(ctx context.Context) int {
	if c.Ready != nil {
		c.Ready()
	}
	<-ctx.Done()
	return ExitTerminated
}

// Serves runs a server until ctx ends. If the container has a real network, the server answers requests.
func (c *Container) Serves(ctx context.Context, port int, handler http.Handler) int {
	if c.Listen == nil {
		return c.Rests(ctx)
	}
	listener, err := c.Listen(port)
	if err != nil {
		return c.Fails("%v", err)
	}
	server := &http.Server{Handler: handler}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return c.Fails("%v", err)
	}
	return ExitTerminated
}

// Well answers every probe with OK.
var Well = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "OK") })

// MountsHost returns the host folder that the container mounts at a path, or "".
func (c *Container) MountsHost(inside string) string {
	for _, mount := range c.Spec.VolumeMounts {
		for _, volume := range c.Pod.Spec.Volumes {
			if volume.Name == mount.Name && volume.HostPath != nil && filepath.Clean(mount.MountPath) == inside {
				return filepath.Clean(volume.HostPath.Path)
			}
		}
	}
	return ""
}

// Argument returns the value of an option (--name=value or --name value), or "".
func (c *Container) Argument(name string) string {
	for i, argument := range c.Argv {
		if value, joined := strings.CutPrefix(argument, name+"="); joined {
			return value
		}
		if argument == name && i+1 < len(c.Argv) {
			return c.Argv[i+1]
		}
	}
	return ""
}

// SeesNVML reports whether programs such as NVIDIA's device plugin find NVML. Either the runtime injected the
// libraries, or the container mounts a driver root that has them (k8s-device-plugin internal/lookup: the standard
// library folders under /driver-root).
func (c *Container) SeesNVML() bool {
	return c.Libraries || c.mountsDriver(driverRoot, "/", "/usr/local")
}

// mountsDriver reports whether the container mounts one of these host folders at a path, and the driver is in the
// folder.
func (c *Container) mountsDriver(at string, folders ...string) bool {
	s := c.Machine.Snapshot()
	fits := s.Injection != host.InjectionLegacy && s.DriverVersion != "" && s.LibraryVersion == s.DriverVersion
	return fits && slices.Contains(folders, c.MountsHost(at))
}

// driverRoot is where the device plugin finds the driver for its CDI specification (--driver-root-ctr-path).
const driverRoot = "/driver-root"
