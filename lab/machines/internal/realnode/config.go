package realnode

import (
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/reach"
	"talos-gpu/lab/machines/internal/spec"
)

// Config of the real nodes of a lab.
type Config struct {
	Authority *identity.Authority
	spec.Kubernetes
	spec.Node
	Kubelets *reach.Table // told where the node's kubelet is to be had
}
