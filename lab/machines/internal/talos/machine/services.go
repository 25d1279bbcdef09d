package machine

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/resources"
)

// Services returns the services that the machine runs or wants to run.
func (m *Machine) Services() []resources.Service {
	return look(m, func(s *state) []resources.Service { return append([]resources.Service{}, s.boot.services...) })
}

func running(ids ...string) (list []resources.Service) {
	for _, id := range ids {
		list = append(list, resources.Service{
			ID:      id,
			State:   "Running",
			Message: "Started task " + id,
			Healthy: !strings.HasPrefix(id, "ext-"),
		})
	}
	return list
}

// earlyServices run before the boot sequence (seen on Talos v1.13.0; talos v1.13.0 v1alpha1_sequencer.go, Initialize).
func earlyServices() []resources.Service {
	return running("apid", "auditd", "containerd", "machined", "syslogd", "udevd")
}

// kubeletFails is Talos' message after each failure of the kubelet. containerd is healthy but does not serve pods (seen
// on Talos v1.13.0).
const kubeletFails = `Error running Containerd(kubelet), going to restart forever: task "kubelet" failed: exit code 1 (last log "{\"msg\":\"command failed\",\"err\":\"failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \\\"unix:///run/containerd/containerd.sock\\\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService\"}")`

// services returns a machine's services after the boot sequence has started them. If pods is false, containerd has
// rejected its configuration for pods, and the kubelet fails.
func (m *Machine) services(s *state, pods bool) []resources.Service {
	list, dependents := earlyServices(), []string{"kubelet"}
	if s.boot.isolated {
		list = append(list, running("sandboxd")...)
	}
	if s.boot.cri.waits { // seen on Talos v1.14.1; the machine stays running and ready
		list = append(list, resources.Service{ID: "cri", State: "Waiting", Message: `Waiting for service "sandboxd" to be registered`})
	} else {
		list = append(list, running("cri")...)
	}
	if m.spec.Role == "controlplane" {
		dependents = append(dependents, "etcd", "trustd")
	}
	for _, id := range dependents {
		if id == "kubelet" && !pods {
			list = append(list, resources.Service{ID: id, State: "Waiting", Message: kubeletFails})
			continue
		}
		if id == "etcd" && !m.env.Etcd.Stands() {
			list = append(list, resources.Service{
				ID:      id,
				State:   "Preparing",
				Message: "Running pre state: waiting to be told to bootstrap", // prose: Talos' words
			})
			continue
		}
		list = append(list, running(id)...)
	}
	for _, extension := range s.slots.Running.Extensions {
		list = append(list, extensionServices(s, extension)...)
	}
	return list
}

// extensionServices returns the services of NVIDIA's toolkit, which wait for the driver (siderolabs/extensions
// nvidia-gpu/nvidia-container-toolkit/*/nvidia-persistenced.yaml and nvidia-cdi-gen.yaml). It ignores the services of
// other extensions, because nothing reads them.
func extensionServices(s *state, extension host.Extension) []resources.Service {
	if !strings.HasPrefix(extension.Name, "nvidia-container-toolkit-") {
		return nil
	}
	list := running("ext-nvidia-persistenced")
	cdi := resources.Service{ID: "ext-nvidia-cdi-gen", State: "Finished", Message: "Service finished successfully"}
	if s.boot.driver.Version == "" {
		list[0] = resources.Service{
			ID:      "ext-nvidia-persistenced",
			State:   "Waiting",
			Message: fmt.Sprintf("Waiting for file %q to exist", "/sys/bus/pci/drivers/nvidia"),
		}
		cdi.State, cdi.Message = "Waiting", "Waiting for service \"ext-nvidia-persistenced\" to be \"up\""
	}
	if host.InjectionOf(s.slots.Running.Version) == host.InjectionCDI {
		list = append(list, cdi)
	}
	return list
}

// notUp returns the services for which the boot sequence still waits.
func notUp(list []resources.Service) (names []string) {
	for _, service := range list {
		if service.State != "Running" && service.State != "Finished" {
			names = append(names, service.ID)
		}
	}
	return names
}

// Etcd is the cluster's etcd. It is bootstrapped when its context has ended, and then the Kubernetes API exists. A nil
// Etcd is bootstrapped.
type Etcd struct {
	missing   context.Context //nolint:containedctx // it ends when etcd is bootstrapped
	bootstrap context.CancelFunc
}

// NewEtcd makes an etcd that is already bootstrapped, or one that waits for a bootstrap call on a control plane.
func NewEtcd(stands bool) *Etcd {
	missing, bootstrap := context.WithCancel(context.Background())
	if stands {
		bootstrap()
	}
	return &Etcd{missing, bootstrap}
}

// Stands reports whether etcd is bootstrapped.
func (e *Etcd) Stands() bool { return e == nil || e.missing.Err() != nil }

// joinEtcd waits until the cluster's etcd is bootstrapped. Then the machine's etcd member runs, and its kubelet has an
// API to join.
func (m *Machine) joinEtcd(ctx context.Context) {
	if m.env.Etcd.Stands() {
		return
	}
	select {
	case <-ctx.Done():
	case <-m.env.Etcd.missing.Done():
		m.update(func(s *state) {
			if s.boot.kubelet {
				s.boot.services = m.services(s, true)
			}
		})
	}
}

// Bootstrap bootstraps etcd (talos v1.13.0 v1alpha1_server.go, Bootstrap).
func (m *Machine) Bootstrap() error {
	m.Event("bootstrap request received")
	switch {
	case !look(m, func(s *state) bool { return s.boot.kubelet && s.boot.cri.problem == nil }):
		return status.Error(codes.FailedPrecondition, "bootstrap is not available yet")
	case m.spec.Role != "controlplane":
		return status.Error(codes.Unimplemented, "bootstrap is only available on control plane nodes")
	case m.env.Etcd.Stands():
		return status.Error(codes.AlreadyExists, "etcd data directory is not empty")
	}
	m.env.Etcd.bootstrap()
	return nil
}

// server is the API of one boot. It ends with the boot and then cancels every call, as a machine's reboot does.
type server struct {
	resources *resources.State
	up        context.Context //nolint:containedctx // of the boot
	stop      context.CancelFunc
}

func newServer() *server {
	st, err := resources.NewState(context.Background())
	if err != nil {
		panic(err) // a resource type of the library cannot be registered, which no user can correct
	}
	up, stop := context.WithCancel(context.Background())
	return &server{resources: st, up: up, stop: stop}
}

// API returns the resources of the running boot and a context that ends with it, or the error of a dial. A client with
// the cluster's CA does not trust the certificate of a machine in maintenance mode.
func (m *Machine) API() (up context.Context, shown *resources.State, err error) {
	api, unconfigured := look(m, func(s *state) *server { return s.boot.api }), look(m, func(s *state) bool { return s.unconfigured })
	switch {
	case api == nil:
		return nil, nil, status.Errorf(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp %s:50000: connect: connection refused\"", m.spec.Address)
	case unconfigured:
		return nil, nil, status.Error(codes.Unavailable, "connection error: desc = \"transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority\"")
	}
	return api.up, api.resources, nil
}
