package machine

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/release"
	"talos-gpu/lab/machines/internal/talos/resources"
)

var _ host.Machine = (*Machine)(nil)

// Key is what the lab calls the machine.
func (m *Machine) Key() string { return m.spec.Name }

// Name is the machine's host name since its last boot, and the name of its node.
func (m *Machine) Name() string { return look(m, func(s *state) string { return s.boot.host }) }

// Address of the machine's API.
func (m *Machine) Address() string { return m.spec.Address }

// Role is controlplane or worker.
func (m *Machine) Role() string { return m.spec.Role }

// RootFS is the machine's file system.
func (m *Machine) RootFS() string { return m.root }

// Clock is the lab's.
func (m *Machine) Clock() host.Clock { return m.env.Clock }

// Environment that the machine shares with the others.
func (m *Machine) Environment() Environment { return m.env }

// Watch signals changes; see host.Machine.
func (m *Machine) Watch(ctx context.Context) <-chan struct{} {
	out := make(chan struct{}, 1)

	go func() {
		defer close(out)

		for {
			// Before the signal: a change after it, which the receiver may not see, is then another signal.
			m.mu.Lock()
			changed := m.changed
			m.mu.Unlock()

			select {
			case out <- struct{}{}:
			default:
			}

			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()

	return out
}

// Snapshot is a consistent copy for the kubelet emulation.
func (m *Machine) Snapshot() host.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.snapshot()
}

// snapshot needs the lock.
func (m *Machine) snapshot() host.Snapshot {
	image, now := m.s.slots.Running(), m.s.boot

	shot := host.Snapshot{
		Booted:             now.complete,
		BootID:             now.id,
		TalosVersion:       image.Version,
		KubernetesVersion:  configuration.KubernetesVersion(m.s.active),
		SchematicID:        image.SchematicID,
		Era:                release.Era(image.Version),
		Extensions:         slices.Clone(image.Extensions),
		Modules:            slices.Clone(now.modules),
		LibraryVersion:     now.driver.LibraryVersion,
		GPUs:               slices.Clone(m.spec.GPUs),
		Sysctls:            maps.Clone(now.sysctls),
		CRIParts:           maps.Clone(now.cri.parts),
		CRIConfig:          now.cri.config,
		Runtimes:           slices.Clone(now.cri.effective.Runtimes),
		DefaultRuntime:     now.cri.effective.Default,
		KubeletRunning:     now.kubelet && m.env.Etcd.Stands(), // before, there is no Kubernetes API to join
		NodeLabels:         configuration.NodeLabels(m.s.active, m.spec.Role, image.Extensions),
		NodeAnnotations:    configuration.NodeAnnotations(m.s.active, image.SchematicID),
		NodeTaints:         maps.Clone(map[string]string(m.s.active.Machine().NodeTaints())),
		RegisterWithTaints: configuration.RegisterWithTaints(m.s.active),
		Config:             m.s.active,
	}

	if now.driver.Up {
		shot.DriverVersion = now.driver.ModuleVersion
		shot.DriverFlavour = now.driver.Flavour
	}

	return shot
}

// OnDisk is the configuration that the next boot begins with, which nobody can read from Talos 1.13 on (seen on Talos v1.13.0: STATE is mounted
// where no path leads).
func (m *Machine) OnDisk() ([]byte, error) {
	if release.Minor(m.Snapshot().TalosVersion) >= 13 {
		return nil, os.ErrNotExist
	}

	return look(m, func(s *state) config.Provider { return s.persistent }).Bytes()
}

// view is what the resources show. It needs the lock.
func (m *Machine) view() resources.View {
	image, now := m.s.slots.Running(), m.s.boot

	view := resources.View{
		Snapshot: m.snapshot(),
		Name:     now.host, Address: m.spec.Address, Role: m.spec.Role,
		Platform: image.Platform, SecureBoot: m.spec.SecureBoot, Schematic: image.Schematic,
		Persistent: m.s.persistent, Applied: now.applied, Unconfirmed: m.s.slots.Unconfirmed(),
		Stage: now.stage, Ready: now.ready, Unmet: now.unmet, Services: now.services,
	}

	for _, member := range m.env.Cluster {
		view.Members = append(view.Members, resources.Member{Name: member.Name, Address: member.Address, Role: member.Role})
	}

	return view
}

// Services that the machine runs or wants to run.
func (m *Machine) Services() []resources.Service {
	return look(m, func(s *state) []resources.Service { return slices.Clone(s.boot.services) })
}

// sysctlPath is where the kernel shows a sysctl: net.core.bpf_jit_harden is net/core/bpf_jit_harden.
func sysctlPath(key string) string {
	return strings.ReplaceAll(key, ".", "/")
}

// HasStreamingAPI says that the running release has ImageService and LifecycleService.
func (m *Machine) HasStreamingAPI() bool {
	return release.StreamingAPI(m.Snapshot().TalosVersion)
}

// Platform of the running image.
func (m *Machine) Platform() string {
	return look(m, func(s *state) string { return s.slots.Running().Platform })
}
