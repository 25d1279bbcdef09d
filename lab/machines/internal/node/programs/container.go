// Package programs is a table of outcomes: what a container of an image comes to on a node, and with which words. An emulated
// node takes its containers' ends from here; in the containers of a real node the same programs replace those that no registry serves.
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

// Exit codes of what a signal ended (128 + signal).
const (
	ExitKilled     = 137
	ExitTerminated = 143
)

// Container is what a program knows of the container that it runs in.
type Container struct {
	Pod     *corev1.Pod
	Spec    *corev1.Container
	Machine host.Machine
	Argv    []string
	// Env is the image's, the device plugin's and the pod's, where that says a value.
	Env map[string]string
	// GPUs in the container; Libraries says that it also has NVIDIA's libraries and nvidia-smi.
	GPUs         []gpu.Card
	Libraries    bool
	SharedMemory int64 // the size of the container's /dev/shm, in bytes
	Output       io.Writer
	Message      string                            // what the program writes to /dev/termination-log
	Root         string                            // the folder below which the machine's /run/nvidia is
	Read         func(path string) ([]byte, error) // Read reads a file of the container
	// Devices is the kubelet's device manager; nil on a real node, whose device plugin is real.
	Devices *devices.Manager
	Client  kubernetes.Interface // Client has the rights of the node's kubelet; nil on a real node
	Ready   func()               // Ready tells the emulated kubelet that the container's probes succeed from now on
	// Listen opens a port of the container where its network is a real one; else nil.
	Listen func(port int) (net.Listener, error)
}

// Logf writes a line to the container's log.
func (c *Container) Logf(format string, args ...any) { fmt.Fprintf(c.Output, format+"\n", args...) }

// Fails logs why, and is the exit code.
func (c *Container) Fails(format string, args ...any) int {
	c.Logf(format, args...)
	return 1
}

// Rests is ready until ctx ends.
func (c *Container) Rests(ctx context.Context) int {
	if c.Ready != nil {
		c.Ready()
	}
	<-ctx.Done()
	return ExitTerminated
}

// Serves is a server that is up until ctx ends. It answers where the container's network is a real one.
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

// Well answers every question of a probe.
var Well = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "OK") })

// MountsHost says which folder of the machine the container has at a path; "" for none.
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

// Argument is the value of an option, as --name=value or --name value; "" without it.
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

// SeesNVML says whether NVIDIA's device plugin and its like find NVML: the runtime brought the libraries, or a driver root is mounted that has
// them where they look (k8s-device-plugin internal/lookup: the standard library folders under /driver-root).
func (c *Container) SeesNVML() bool {
	return c.Libraries || c.mountsDriver(driverRoot, "/", "/usr/local")
}

// mountsDriver says whether one of these folders of the machine is at a path, and the driver in it.
func (c *Container) mountsDriver(at string, folders ...string) bool {
	s := c.Machine.Snapshot()
	fits := s.Era != host.EraLegacy && s.DriverVersion != "" && s.LibraryVersion == s.DriverVersion
	return fits && slices.Contains(folders, c.MountsHost(at))
}

// driverRoot is where the device plugin looks for the driver that its CDI specification names (--driver-root-ctr-path).
const driverRoot = "/driver-root"
