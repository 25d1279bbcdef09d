package machine

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Etcd of the cluster. A nil one stands.
type Etcd struct {
	once   sync.Once
	stands chan struct{}
}

// NewEtcd makes an etcd that stands, or one that waits for a control plane to be told to bootstrap it.
func NewEtcd(stands bool) *Etcd {
	etcd := &Etcd{stands: make(chan struct{})}
	if stands {
		etcd.bootstrap()
	}
	return etcd
}

// Stands says that etcd, and with it the Kubernetes API, is there.
func (e *Etcd) Stands() bool {
	if e == nil {
		return true
	}
	select {
	case <-e.stands:
		return true
	default:
		return false
	}
}

// bootstrap says whether this call was the one that did it.
func (e *Etcd) bootstrap() (first bool) {
	e.once.Do(func() { first = true; close(e.stands) })
	return first
}

// joinEtcd waits until the cluster's etcd stands: then the machine's own member runs, and its kubelet has an API to join.
func (m *Machine) joinEtcd(ctx context.Context) {
	if m.env.Etcd.Stands() {
		return
	}
	select {
	case <-ctx.Done():
	case <-m.env.Etcd.stands:
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
	case m.env.Etcd == nil || !m.env.Etcd.bootstrap():
		return status.Error(codes.AlreadyExists, "etcd data directory is not empty")
	}
	return nil
}
