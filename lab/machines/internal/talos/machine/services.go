package machine

import (
	"fmt"
	"strings"

	"talos-gpu/lab/machines/internal/host"
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

// kubeletFails is what Talos says each time that its kubelet ends: containerd, which is healthy, serves no pods (seen on Talos v1.13.0).
const kubeletFails = `Error running Containerd(kubelet), going to restart forever: task "kubelet" failed: exit code 1 (last log "{\"msg\":\"command failed\",\"err\":\"failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \\\"unix:///run/containerd/containerd.sock\\\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService\"}")`

// services of a machine in the state s once the boot sequence has started them. Without pods, containerd refuses its configuration of
// them, and the kubelet fails.
func (m *Machine) services(s *state, pods bool) []resources.Service {
	list, dependents := append(earlyServices(), running("cri")...), []string{"kubelet"}
	if m.spec.Role == "controlplane" {
		dependents = append(dependents, "etcd", "trustd")
	}
	for _, id := range dependents {
		if id == "kubelet" && !pods {
			list = append(list, resources.Service{ID: id, State: "Waiting", Message: kubeletFails})
			continue
		}
		if id == "etcd" && !m.env.Etcd.Stands() {
			list = append(list, resources.Service{ID: id, State: "Preparing", Message: "Running pre state: waiting to be told to bootstrap"})
			continue
		}
		list = append(list, running(id)...)
	}
	for _, extension := range s.slots.Running.Extensions {
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
	if host.EraOf(s.slots.Running.Version) == host.EraCDI {
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
