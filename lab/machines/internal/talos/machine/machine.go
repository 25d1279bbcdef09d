// Package machine is one emulated Talos machine: its slots, its configuration, its boots, and what runs on it. It has what kills, fleets
// and a stack without one of its fixes need. What real Talos does was seen by `lab/tests/real-talos` (v1.13.0, lab/docs/conformance.md).
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

// Environment is what a machine shares with the others.
type Environment struct {
	Clock   *clock.Clock
	Factory *factory.Client
	Dir     string         // where machines keep their file systems, a folder each
	Cluster []spec.Machine // Cluster lists the machines of the cluster
	// ServeMaintenance makes the API server of a machine without a configuration.
	ServeMaintenance func(*Machine) *grpc.Server
	Etcd             *Etcd // Etcd of the cluster; nil: it stands
	// AdminKubeconfig makes what a control plane gives to who asks for it; nil without Kubernetes.
	AdminKubeconfig func() ([]byte, error)
}

// Machine is one machine. Its methods may be called from anywhere.
type Machine struct {
	spec spec.Machine
	env  Environment
	root string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced on each change
	s       state

	publishing sync.Mutex // resources are synchronised one change at a time
	// maintenance is where a machine without a configuration listens, apart from the others: nothing but its own address
	// tells who is meant there. Nil where the machine began with a configuration.
	maintenance   net.Listener
	maintenanceAt string // its address, also while it is closed

	installing sync.Mutex // held while an installer runs (talos v1.13.0 internal/app/lifecycle)
}

// state is all that changes.
type state struct {
	slots      *slots.Pair[factory.Image]
	active     config.Provider
	persistent config.Provider
	// unconfigured: the machine runs from its boot medium and waits for its first configuration.
	unconfigured bool
	images       map[string]factory.Image // pulled into containerd, by reference

	boot boot
	next *shutdown // why the machine goes down; nil while it stays up

	reboots, upgrades, requests int
	events                      []Entry
	faults                      map[string]int
}

// boot is what begins with each boot.
type boot struct {
	id       string
	host     string  // the name that the machine has until the next boot
	began    float64 // when, in lab seconds
	stage    runtime.MachineStage
	ready    bool // ready: the boot sequence is done, and every condition is met
	unmet    []runtime.UnmetCondition
	kubelet  bool
	parts    config.Provider // parts: the configuration whose images Kubernetes' parts run; nil before the kubelet runs
	applied  bool            // applied: a configuration was handed over in this boot
	driver   nvidia.Driver
	sysctls  map[string]string
	cri      cri
	isolated bool // isolated: the boot began with workload isolation, and has its service
	services []resources.Service
	end      context.CancelFunc // end takes the machine down
	api      *server
}

// New makes a machine that is off: installed, or with a boot medium alone where it has no configuration.
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

// update changes the state, shows the change in the resources, and wakes who watches.
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

// running is the image that was booted last.
func (m *Machine) running() factory.Image {
	return look(m, func(s *state) factory.Image { return s.slots.Running })
}

// await waits until a condition holds.
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
