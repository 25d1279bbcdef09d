// Package kubelet emulates the kubelet of a machine, and containerd under it, against a real API server: with its own
// client certificate, so that the Node authorizer and NodeRestriction judge it as they would a real one.
//
// Emulated, each rule with its source beside it: registration and Talos' labels, node status and lease, pods with their
// phases and conditions, device plugins, runtime handlers, the NVIDIA runtime, volumes, environment, probes, hooks, restarts.
// Not emulated: cgroups and resource limits, users and capabilities, seccomp, image contents (see package rules), eviction,
// static pods, projected service account tokens, exec and port-forward, a kubelet that restarts without its machine.
package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/network"
)

// Kubelet of one machine.
type Kubelet struct {
	machine   host.Machine
	authority *Authority
	rules     []Rule
	runtime   map[string]Program // programs that the NVIDIA runtime brings
	anywhere  map[string]Program // programs that every image may call
	network   *network.Network
	programs  *programServer
	logPort   int32
	mutex     sync.Mutex
	images    map[string]bool
}

// Config of a kubelet.
type Config struct {
	Authority *Authority
	// Rules say what images do; the first that fits counts.
	Rules []Rule
	// RuntimePrograms come with NVIDIA's libraries: nvidia-smi.
	RuntimePrograms map[string]Program
	// CommonPrograms replace programs of any image that need the cluster's network: curl, wget.
	CommonPrograms map[string]Program
	Network        *network.Network
}

// New prepares the kubelet of a machine; ctx bounds its servers.
func New(ctx context.Context, config Config, machine host.Machine) (*Kubelet, error) {
	programs, err := newProgramServer(ctx)
	if err != nil {
		return nil, err
	}
	port, err := serveLogs(ctx, machine.RootFS())
	if err != nil {
		return nil, err
	}
	return &Kubelet{
		machine: machine, authority: config.Authority, rules: config.Rules, runtime: config.RuntimePrograms, anywhere: config.CommonPrograms,
		network: config.Network, programs: programs, logPort: port, images: map[string]bool{},
	}, nil
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
			client, elevated, err := k.authority.clients(k.machine)
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

// withRuntimePrograms adds what the NVIDIA runtime and the network bring to an image's programs.
func (k *Kubelet) withRuntimePrograms(rule Rule, injected injection) Rule {
	programs := maps.Clone(rule.Programs)
	if programs == nil {
		programs = map[string]Program{}
	}
	if injected.libraries {
		maps.Copy(programs, k.runtime)
	}
	maps.Copy(programs, k.anywhere)
	rule.Programs = programs
	return rule
}

func (k *Kubelet) hasImage(image string) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.images[image]
}

func (k *Kubelet) addImage(image string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.images[image] = true
}

func (k *Kubelet) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "kubelet %s: %s\n", k.machine.Name(), fmt.Sprintf(format, args...))
}
