package machine

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Etcd of the cluster stands once its context has ended, and with it the Kubernetes API. A nil one stands.
type Etcd struct {
	missing   context.Context //nolint:containedctx // it is all that there is to know
	bootstrap context.CancelFunc
}

// NewEtcd makes an etcd that stands, or one that waits for a control plane to be told to bootstrap it.
func NewEtcd(stands bool) *Etcd {
	missing, bootstrap := context.WithCancel(context.Background())
	if stands {
		bootstrap()
	}
	return &Etcd{missing, bootstrap}
}

// Stands says that etcd is there.
func (e *Etcd) Stands() bool { return e == nil || e.missing.Err() != nil }

// joinEtcd waits until the cluster's etcd stands: then the machine's own member runs, and its kubelet has an API to join.
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

// Bootstrap etcd (talos v1.13.0 v1alpha1_server.go, Bootstrap).
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
