package machine

import (
	"maps"
	"slices"
	"strings"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/release"
	"talos-gpu/lab/machines/internal/talos/resources"
)

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

// view is what the resources show. It needs the lock.
func (m *Machine) view() resources.View {
	image, now := m.s.slots.Running(), m.s.boot

	view := resources.View{
		Snapshot: m.snapshot(),
		Name:     now.host, Address: m.spec.Address, Role: m.spec.Role,
		Platform: image.Platform, SecureBoot: m.spec.SecureBoot, Schematic: image.Schematic,
		Persistent: m.s.persistent,
		Stage:      now.stage, Ready: now.ready, Unmet: now.unmet, Services: now.services,
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
