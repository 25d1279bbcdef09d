package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
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
	GPUs []GPU
	// Libraries says that NVIDIA's libraries and nvidia-smi are in the container.
	Libraries bool
	// Paths of the container on this computer.
	Paths Paths
	// Output takes what the program writes.
	Output io.Writer
	// PodIP of the pod.
	PodIP string
	// Devices is the kubelet's device manager, for device plugins.
	Devices *DeviceManager
	// Listen opens a port of the container, where its network is a real one.
	Listen func(port int) (net.Listener, error)

	rule      Rule
	folder    string
	network   *network.Network
	programs  *programServer
	announce  func(address string)
	listeners *listeners
}

type listeners struct {
	mutex sync.Mutex
	ports map[int]string
}

// Logf writes a line to the container's log.
func (c *Container) Logf(format string, args ...any) { fmt.Fprintf(c.Output, format+"\n", args...) }

// Serve answers HTTP for a port of the pod, really, until ctx ends: on an address of 127.0.0.1, or where the pod's network is a real one, on its port.
func (c *Container) Serve(ctx context.Context, port int, handler http.Handler) error {
	if c.Listen != nil {
		listener, err := c.Listen(port)
		if err != nil {
			return err
		}
		return serveUntil(ctx, listener, handler)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for port %d of pod %s: %w", port, c.Pod.Name, err)
	}
	address := listener.Addr().String()
	c.network.Register(c.PodIP, port, address)
	c.listeners.mutex.Lock()
	c.listeners.ports[port] = address
	c.listeners.mutex.Unlock()
	c.announce(address)
	stopped := context.AfterFunc(ctx, func() {
		c.network.Unregister(c.PodIP, port, address)
		c.listeners.mutex.Lock()
		delete(c.listeners.ports, port)
		c.listeners.mutex.Unlock()
	})
	defer stopped()
	return serveUntil(ctx, listener, handler)
}

func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// address of a port that the container serves.
func (l *listeners) address(port int) (string, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	address, found := l.ports[port]
	return address, found
}

func (l *listeners) any() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.ports) > 0
}

// program finds an emulated program of the image or of the NVIDIA runtime by its name.
func (c *Container) program(name string) (Program, bool) {
	program, found := c.rule.Programs[path.Base(name)]
	return program, found
}

// run runs argv in the container: as an emulated program, as a real process, or, for images that no rule knows, as
// something that goes on until it is stopped.
func (c *Container) run(ctx context.Context, argv []string, output io.Writer) int {
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
	return exitTerminated
}

// Exit codes of processes that a signal ended (128 + signal).
const (
	exitKilled     = 137
	exitTerminated = 143
)
