package machine

import (
	"fmt"
	"strings"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/release"
	"talos-gpu/lab/machines/internal/talos/resources"
)

// Services that the machine runs or wants to run.
func (m *Machine) Services() []resources.Service {
	return look(m, func(s *state) []resources.Service { return append([]resources.Service{}, s.boot.services...) })
}

func running(ids ...string) (list []resources.Service) {
	for _, id := range ids {
		list = append(list, resources.Service{ID: id, State: "Running", Message: "Started task " + id, Healthy: !strings.HasPrefix(id, "ext-")})
	}
	return list
}

// earlyServices run before the boot sequence (seen on Talos v1.13.0; talos v1.13.0 v1alpha1_sequencer.go, Initialize).
func earlyServices() []resources.Service {
	return running("apid", "auditd", "containerd", "machined", "syslogd", "udevd")
}

// services of a machine in the state s once the boot sequence has started them. Without cri, containerd refuses its
// configuration, and nothing that needs it starts.
func (m *Machine) services(s *state, cri bool) []resources.Service {
	list, dependents := earlyServices(), []string{"kubelet"}
	if m.spec.Role == "controlplane" {
		dependents = append(dependents, "etcd", "trustd")
	}
	if !cri {
		list = append(list, resources.Service{ID: "cri", State: "Waiting", Message: "Error running containerd, going to restart forever"})
		for _, id := range dependents {
			list = append(list, resources.Service{ID: id, State: "Waiting", Message: "Waiting for service \"cri\" to be \"up\""})
		}
		return list
	}
	list = append(list, running("cri")...)
	for _, id := range dependents {
		if id == "etcd" && !m.env.Etcd.Stands() {
			list = append(list, resources.Service{ID: id, State: "Preparing", Message: "Running pre state: waiting to be told to bootstrap"})
			continue
		}
		list = append(list, running(id)...)
	}
	for _, extension := range s.slots.Running().Extensions {
		list = append(list, extensionServices(s, extension)...)
	}
	return list
}

// extensionServices are those of NVIDIA's toolkit, which wait for the driver; nobody reads others'
// (siderolabs/extensions nvidia-gpu/nvidia-container-toolkit/*/nvidia-persistenced.yaml and nvidia-cdi-gen.yaml).
func extensionServices(s *state, extension host.Extension) []resources.Service {
	if !strings.HasPrefix(extension.Name, "nvidia-container-toolkit-") {
		return nil
	}
	list := running("ext-nvidia-persistenced")
	cdi := resources.Service{ID: "ext-nvidia-cdi-gen", State: "Finished", Message: "Service finished successfully"}
	if s.boot.driver.Version == "" {
		list[0] = resources.Service{ID: "ext-nvidia-persistenced", State: "Waiting", Message: fmt.Sprintf("Waiting for file %q to exist", "/sys/bus/pci/drivers/nvidia")}
		cdi.State, cdi.Message = "Waiting", "Waiting for service \"ext-nvidia-persistenced\" to be \"up\""
	}
	if release.Era(s.slots.Running().Version) == host.EraCDI {
		list = append(list, cdi)
	}
	return list
}

// notUp are the services that keep the boot sequence from ending.
func notUp(list []resources.Service) (names []string) {
	for _, service := range list {
		if service.State != "Running" && service.State != "Finished" {
			names = append(names, service.ID)
		}
	}
	return names
}
