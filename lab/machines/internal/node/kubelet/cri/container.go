// Package cri is a machine's containerd: it has the images that were pulled, and runs containers. What an image's programs
// do, a rule says (package rules); its shell scripts run for real on this computer, with their paths rewritten.
package cri

import (
	"context"
	"fmt"
	"io"
	"net"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/kubelet/network"
)

// Container is a created container as its programs see it.
type Container struct {
	Pod     *corev1.Pod
	Spec    *corev1.Container
	Machine host.Machine
	// Argv of the program that runs.
	Argv []string
	// Env is resolved: the image's, the device plugin's, the pod's.
	Env map[string]string
	// Handler is the runtime of the pod, e.g. runc or nvidia.
	Handler string
	// GPUs in the container.
	GPUs []gpu.Card
	// Libraries says that NVIDIA's libraries and nvidia-smi are in the container.
	Libraries bool
	// Paths of the container on this computer.
	Paths Paths
	// SharesMemory says that the container has more of /dev/shm than containerd's 64 MiB.
	SharesMemory bool
	// Output takes what the program writes.
	Output io.Writer
	// PodIP of the pod.
	PodIP string
	// Devices is the kubelet's device manager, for device plugins.
	Devices *devices.Manager
	// Listen opens a port of the container, where its network is a real one.
	Listen func(port int) (net.Listener, error)

	rule      Rule
	folder    string
	network   *network.Network
	programs  *programServer
	announce  func(address string)
	listeners *listeners
}

// Logf writes a line to the container's log.
func (c *Container) Logf(format string, args ...any) { fmt.Fprintf(c.Output, format+"\n", args...) }

// CanRun says that the lab knows what argv does in this container: its image is emulated, or a program that runs for real
// is its own or the one asked for.
func (c *Container) CanRun(argv []string) bool {
	return len(c.rule.Programs) > 0 || runsForReal(c.Argv) || runsForReal(argv)
}

// Remove forgets the container, which has ended.
func (c *Container) Remove() { c.programs.forget(c.folder) }

// MayAdminister says that a container has CAP_SYS_ADMIN.
func MayAdminister(security *corev1.SecurityContext) bool {
	switch {
	case security == nil:
		return false
	case security.Privileged != nil && *security.Privileged:
		return true
	case security.Capabilities == nil:
		return false
	}
	return slices.Contains(security.Capabilities.Add, "SYS_ADMIN") || slices.Contains(security.Capabilities.Add, "ALL")
}

// program finds an emulated program of the image or of the NVIDIA runtime by its name.
func (c *Container) program(name string) (Program, bool) {
	program, found := c.rule.Programs[path.Base(name)]
	return program, found
}

// Run runs argv in the container: as an emulated program, as a real process, or, for images that no rule knows, as
// something that goes on until it is stopped.
func (c *Container) Run(ctx context.Context, argv []string, output io.Writer) int {
	running := *c
	running.Argv, running.Output = argv, output
	if len(argv) > 0 {
		if program, found := c.program(argv[0]); found {
			return program(ctx, &running)
		}
	}
	if runsForReal(argv) {
		return running.process(ctx)
	}
	running.Logf("lab: %s is not emulated; the container stays running", c.Spec.Image)
	<-ctx.Done()
	return ExitTerminated
}

// Exit codes of processes that a signal ended (128 + signal).
const (
	ExitKilled     = 137
	ExitTerminated = 143
)
