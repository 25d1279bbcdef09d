package realnode

import (
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/reach"
)

// Config of the real nodes of a lab.
type Config struct {
	Authority *identity.Authority
	// Server of the cluster's API, with the files of the authority that signs kubelets' certificates.
	Server, CACert, CAKey string
	// Kubelets is told where the node's kubelet is to be had.
	Kubelets *reach.Table
	// Programs are folders with the programs, as they are built.
	Programs []string
	// RealDriver takes the driver of this computer, with its cards, instead of a stand-in.
	RealDriver bool
}
