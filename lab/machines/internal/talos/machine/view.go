package machine

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/resources"
)

var _ host.Machine = (*Machine)(nil)

// Key, Name, Address, Role, RootFS, Clock, Watch and Snapshot implement host.Machine.
func (m *Machine) Key() string         { return m.spec.Name }
func (m *Machine) Name() string        { return look(m, func(s *state) string { return s.boot.host }) }
func (m *Machine) Address() string     { return m.spec.Address }
func (m *Machine) Role() string        { return m.spec.Role }
func (m *Machine) RootFS() string      { return m.root }
func (m *Machine) Clock() *clock.Clock { return m.env.Clock }

// Environment returns what the machine shares with the others.
func (m *Machine) Environment() Environment { return m.env }

// Platform returns the platform of the running image.
func (m *Machine) Platform() string { return m.running().Platform }

// HasStreamingAPI reports whether the running release has ImageService and LifecycleService (talos v1.13.0
// internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go, Register; absent at v1.12.11).
func (m *Machine) HasStreamingAPI() bool { return host.Minor(m.running().Version) >= 13 }

func (m *Machine) Watch(ctx context.Context) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		for {
			// The channel is read before the signal, so that a change after the signal causes another signal.
			changed := look(m, func(*state) chan struct{} { return m.changed })
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

func (m *Machine) Snapshot() host.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.snapshot()
}

// snapshot requires that the caller holds the lock.
func (m *Machine) snapshot() host.Snapshot {
	image, now, parts := m.s.slots.Running, m.s.boot, m.s.active
	if now.parts != nil {
		parts = now.parts
	}
	return host.Snapshot{
		BootID:             now.id,
		TalosVersion:       image.Version,
		KubernetesVersion:  configuration.KubernetesVersion(parts),
		Injection:          host.InjectionOf(image.Version),
		Extensions:         slices.Clone(image.Extensions),
		Modules:            slices.Clone(now.driver.Modules),
		DriverVersion:      now.driver.Version,
		LibraryVersion:     now.driver.LibraryVersion,
		GPUs:               slices.Clone(m.spec.GPUs),
		Sysctls:            maps.Clone(now.sysctls),
		CRIParts:           maps.Clone(now.cri.parts),
		Runtimes:           slices.Clone(now.cri.effective.Runtimes),
		NRI:                now.cri.effective.NRI,
		DefaultRuntime:     now.cri.effective.Default,
		On:                 now.api != nil,
		KubeletRunning:     now.kubelet && m.env.Etcd.Stands(), // before that there is no Kubernetes API to join
		NodeWants:          configuration.NodeWants(m.s.active, image.SchematicID, image.Extensions),
		RegisterWithTaints: configuration.RegisterWithTaints(m.s.active),
		Config:             m.s.active,
	}
}

// OnDisk returns the configuration with which the next boot begins. Since Talos 1.11 it cannot be read (seen on Talos
// v1.11.1 and v1.13.0: STATE is mounted where no path leads).
func (m *Machine) OnDisk() ([]byte, error) {
	if host.Minor(m.running().Version) >= 11 {
		return nil, os.ErrNotExist
	}
	return look(m, func(s *state) config.Provider { return s.persistent }).Bytes()
}

// view returns the data for the resources. The caller must hold the lock.
func (m *Machine) view() resources.View {
	image, now, pods := m.s.slots.Running, m.s.boot, map[string]string{}
	if now.kubelet && now.parts != nil {
		pods = configuration.StaticPodImages(now.parts)
	}
	return resources.View{
		Snapshot:    m.snapshot(),
		StaticPods:  pods,
		Name:        now.host,
		Platform:    image.Platform,
		SecureBoot:  m.spec.SecureBoot,
		SchematicID: image.SchematicID,
		Schematic:   image.Schematic,
		Persistent:  m.s.persistent,
		Applied:     now.applied,
		Unconfirmed: m.s.slots.Unconfirmed,
		Stage:       now.stage,
		Ready:       now.ready,
		Unmet:       now.unmet,
	}
}

// Report is what the control endpoint shows about a machine.
type Report struct {
	Address       string  `json:"address"`
	TalosVersion  string  `json:"talosVersion"`
	SchematicID   string  `json:"schematicId"`
	DriverVersion *string `json:"driverVersion"`
	Reboots       int     `json:"reboots"`
	Upgrades      int     `json:"upgrades"`
	Requests      int     `json:"requests"`
	Stage         string  `json:"stage"`
	Ready         bool    `json:"ready"`
	BootID        string  `json:"bootId"`
	Events        []Entry `json:"events"`
}

// Report returns the machine's report.
func (m *Machine) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	image, now := m.s.slots.Running, m.s.boot
	report := Report{
		Address:      m.spec.Address,
		TalosVersion: image.Version,
		SchematicID:  image.SchematicID,
		Reboots:      m.s.reboots,
		Upgrades:     m.s.upgrades,
		Requests:     m.s.requests,
		Stage:        now.stage.String(),
		Ready:        now.ready,
		BootID:       now.id,
		Events:       append([]Entry{}, m.s.events...),
	}
	if version := now.driver.Version; version != "" {
		report.DriverVersion = &version
	}
	return report
}
