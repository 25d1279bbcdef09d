// Package kubelet emulates the kubelet of a machine against a real API server: with its own client certificate, so that the
// Node authorizer and NodeRestriction judge it as they would a real one. It is a session per boot and a worker per pod; what
// they use has a package of its own: the Node (registration, apply), devices, a container's inputs, containerd (cri), logs.
//
// Emulated, each rule with its source beside it: registration and Talos' labels, node status and lease, pods with their
// phases and conditions, device plugins, runtime handlers, the NVIDIA runtime, volumes, environment, probes, hooks, restarts.
// Not emulated: cgroups and resource limits, users and capabilities, seccomp, image contents (see package rules), eviction,
// static pods, projected service account tokens, exec and port-forward, a kubelet that restarts without its machine.
package kubelet

import (
	"context"
	"fmt"
	"os"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/logs"
)

// Kubelet of one machine.
type Kubelet struct {
	machine   host.Machine
	authority *identity.Authority
	runtime   *cri.Runtime
	logPort   int32
}

// Config of a kubelet.
type Config struct {
	// Authority signs the node's client certificate.
	Authority *identity.Authority
	// Runtime is the machine's containerd.
	Runtime cri.Config
}

// New prepares the kubelet of a machine; ctx bounds its servers.
func New(ctx context.Context, config Config, machine host.Machine) (*Kubelet, error) {
	runtime, err := cri.New(ctx, config.Runtime)
	if err != nil {
		return nil, err
	}
	port, err := logs.Serve(ctx, machine.RootFS())
	if err != nil {
		return nil, err
	}
	return &Kubelet{machine: machine, authority: config.Authority, runtime: runtime, logPort: port}, nil
}

// Run follows the machine: a session per boot whose kubelet runs.
func (k *Kubelet) Run(ctx context.Context) error {
	var current *session
	stop := func() {
		if current != nil {
			current.shutdown()
			current = nil
		}
	}
	defer stop()
	for range k.machine.Watch(ctx) {
		snapshot := k.machine.Snapshot()
		if current != nil && (!snapshot.KubeletRunning || snapshot.BootID != current.bootID) {
			stop()
		}
		switch {
		case snapshot.KubeletRunning && current == nil:
			// The node's name is of this boot, and its rights go by it.
			client, elevated, err := k.authority.Clients(k.machine)
			if err != nil {
				return err
			}
			current = startSession(ctx, k, client, elevated, snapshot)
		case current != nil:
			current.machineChanged()
		}
	}
	return nil
}

func (k *Kubelet) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "kubelet %s: %s\n", k.machine.Name(), fmt.Sprintf(format, args...))
}
