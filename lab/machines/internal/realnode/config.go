package realnode

import (
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/reach"
	"talos-gpu/lab/machines/internal/spec"
)

// Config configures the real nodes of a lab.
type Config struct {
	Authority *identity.Authority
	spec.Kubernetes
	spec.Node
	Kubelets *reach.Table // gets the address of the node's kubelet
}
