// Package machine is one emulated Talos machine: its slots, its configuration, its boots, and what runs on it. It
// emulates what tests need of killed programs, fleets, and a stack without one of its fixes. `lab/tests/real-talos` has
// observed what real Talos does (v1.13.0, lab/docs/conformance.md).
package machine

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/spec"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/resources"
	"talos-gpu/lab/machines/internal/talos/slots"
)

// Environment is what all machines share.
type Environment struct {
	Clock   *clock.Clock
	Factory *factory.Client
	Dir     string         // has a folder for each machine's file system
	Cluster []spec.Machine // the machines of the cluster
	// ServeMaintenance makes the API server of a machine without a configuration.
	ServeMaintenance func(*Machine) *grpc.Server
	Etcd             *Etcd // the cluster's etcd; nil if it is already bootstrapped
	// AdminKubeconfig makes the kubeconfig that a control plane returns. It is nil without Kubernetes.
	AdminKubeconfig func() ([]byte, error)
}

// Machine is one machine. Its methods are safe for concurrent use.
type Machine struct {
	spec spec.Machine
	env  Environment
	root string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced after each change
	s       state

	publishing sync.Mutex // makes the resources follow one change at a time
	// maintenance is the listener of a machine without a configuration. Each such machine has another address, because
	// nothing else tells which machine a call is meant for. It is nil if the machine began with a configuration.
	maintenance   net.Listener
	maintenanceAt string // the listener's address, also while it is closed

	installing sync.Mutex // held while an installer runs (talos v1.13.0 internal/app/lifecycle)
}

// state is everything that changes.
type state struct {
	slots      *slots.Pair[factory.Image]
	active     config.Provider
	persistent config.Provider
	// unconfigured says that the machine runs from its boot medium and waits for its first configuration.
	unconfigured bool
	images       map[string]factory.Image // images in containerd's store, by reference

	boot boot
	next *shutdown // why the machine goes down; nil while it stays up

	reboots, upgrades, requests int
	events                      []Entry
	faults                      map[string]int
}

// boot is the state that each boot resets.
type boot struct {
	id       string
	host     string  // the host name until the next boot
	began    float64 // in lab seconds
	stage    runtime.MachineStage
	ready    bool // the boot sequence is done and all conditions are met
	unmet    []runtime.UnmetCondition
	kubelet  bool
	parts    config.Provider // the configuration whose images Kubernetes' parts run; nil before the kubelet runs
	applied  bool            // a configuration was applied in this boot
	driver   nvidia.Driver
	sysctls  map[string]string
	cri      cri
	isolated bool // the boot began with workload isolation and has its service
	services []resources.Service
	end      context.CancelFunc // takes the machine down
	api      *server
}

// New makes a machine that is off. It is installed, or has only a boot medium if it has no configuration.
func New(ctx context.Context, description spec.Machine, env Environment) (*Machine, error) {
	installer := factory.Installer{
		Platform:    description.Platform,
		SecureBoot:  description.SecureBoot,
		SchematicID: description.SchematicID,
		Version:     description.TalosVersion,
	}
	image, err := env.Factory.Resolve(ctx, installer)
	if err != nil {
		return nil, fmt.Errorf("machines.%s: image of schematic %s, Talos %s: %w", description.Name, description.SchematicID, description.TalosVersion, err)
	}
	provider, err := firstConfiguration(description.Config, description.TalosVersion)
	if err != nil {
		return nil, fmt.Errorf("machines.%s.config: %w", description.Name, err)
	}
	m := &Machine{
		spec:    description,
		env:     env,
		root:    filepath.Join(env.Dir, "machines", description.Name, "root"),
		changed: make(chan struct{}),
		s: state{
			slots:        slots.New(image),
			active:       provider,
			persistent:   provider,
			unconfigured: description.Config == "",
			images:       map[string]factory.Image{},
			faults:       map[string]int{},
			boot:         boot{host: configuration.HostnameOf(provider, description.Name), end: func() {}},
		},
	}
	if m.s.unconfigured {
		if m.maintenance, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		m.maintenanceAt = m.maintenance.Addr().String()
	}
	return m, os.MkdirAll(m.root, 0o755)
}

// update changes the state, updates the resources, and wakes the watchers.
func (m *Machine) update(change func(s *state)) {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	m.mu.Lock()
	change(&m.s)
	view := m.view()
	api := m.s.boot.api
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
	if api == nil {
		return
	}
	if err := api.resources.Show(context.Background(), view); err != nil {
		log.Printf("%s: resources: %v", m.spec.Name, err)
	}
}

// look reads the state.
func look[T any](m *Machine, read func(s *state) T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return read(&m.s)
}

func (m *Machine) active() config.Provider {
	return look(m, func(s *state) config.Provider { return s.active })
}

// running returns the image that was booted last.
func (m *Machine) running() factory.Image {
	return look(m, func(s *state) factory.Image { return s.slots.Running })
}

// await waits until a condition is met.
func (m *Machine) await(ctx context.Context, met func(s *state) bool) error {
	for {
		m.mu.Lock()
		ok, changed := met(&m.s), m.changed
		m.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
