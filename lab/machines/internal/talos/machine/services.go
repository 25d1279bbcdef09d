package machine

import (
	"fmt"
	"strings"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/release"
	"talos-gpu/lab/machines/internal/talos/resources"
)

func running(id string, checked bool) resources.Service {
	return resources.Service{ID: id, State: "Running", Message: "Started task " + id, Healthy: checked, Unknown: !checked}
}

// earlyServices run before the boot sequence (talos v1.13.0 v1alpha1_sequencer.go, Initialize).
func earlyServices() []resources.Service {
	return []resources.Service{
		running("apid", true), running("auditd", false), running("containerd", true), running("machined", true),
		running("syslogd", true), running("udevd", true),
	}
}

// services of a machine in the state s once the boot sequence has started them. Without cri, containerd refuses its
// configuration, and nothing that needs it starts.
func (m *Machine) services(s *state, cri bool) []resources.Service {
	list := earlyServices()

	dependents := []string{"kubelet"}
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

	list = append(list, running("cri", true))
	for _, id := range dependents {
		if id == "etcd" && !m.env.Etcd.Stands() {
			list = append(list, resources.Service{ID: id, State: "Preparing", Message: "Running pre state: waiting to be told to bootstrap", Unknown: true})

			continue
		}

		list = append(list, running(id, true))
	}

	for _, extension := range s.slots.Running().Extensions {
		list = append(list, m.extensionServices(s, extension)...)
	}

	return list
}

// extensionServices that an extension brings. Those of NVIDIA's toolkit wait for the driver
// (siderolabs/extensions nvidia-gpu/nvidia-container-toolkit/*/nvidia-persistenced.yaml and nvidia-cdi-gen.yaml).
func (m *Machine) extensionServices(s *state, extension host.Extension) []resources.Service {
	switch {
	case extension.Name == "iscsi-tools":
		return []resources.Service{running("ext-iscsid", false), running("ext-tgtd", false)}
	case extension.Name == "qemu-guest-agent", extension.Name == "tailscale", extension.Name == "nut-client":
		return []resources.Service{running("ext-"+extension.Name, false)}
	case !strings.HasPrefix(extension.Name, "nvidia-container-toolkit-"):
		return nil
	}

	persistenced := resources.Service{ID: "ext-nvidia-persistenced", State: "Waiting", Unknown: true}

	switch driver := s.boot.driver; {
	case driver.Up:
		persistenced = running("ext-nvidia-persistenced", false)
	case len(driver.Modules) > 0:
		persistenced.Message = "Error running Containerd(ext-nvidia-persistenced), going to restart forever: task \"ext-nvidia-persistenced\" failed: exit code 1"
	default:
		persistenced.Message = fmt.Sprintf("Waiting for file %q to exist", nvidia.PCIDriverPath)
	}

	if release.Era(s.slots.Running().Version) != host.EraCDI {
		return []resources.Service{persistenced}
	}

	cdi := resources.Service{ID: "ext-nvidia-cdi-gen", State: "Waiting", Unknown: true, Message: "Waiting for service \"ext-nvidia-persistenced\" to be \"up\""}

	if persistenced.State == "Running" {
		cdi.State, cdi.Message = "Finished", "Service finished successfully"

		if err := nvidia.WriteCDI(m.root, m.spec.GPUs); err != nil {
			cdi.State, cdi.Message = "Failed", err.Error()
		}
	}

	return []resources.Service{persistenced, cdi}
}

// notUp are the services that keep the boot sequence from ending. One that was started counts as up, even when it then
// dies and is started again: the condition is met by the first start.
func notUp(list []resources.Service) []string {
	var names []string

	for _, service := range list {
		started := service.State == "Running" || service.State == "Finished" || strings.HasPrefix(service.Message, "Error running Containerd(")
		if !started {
			names = append(names, service.ID)
		}
	}

	return names
}
