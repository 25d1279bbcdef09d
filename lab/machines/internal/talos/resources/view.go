// Package resources shows a machine as Talos' COSI resources, which `talosctl get` reads.
package resources

import (
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"talos-gpu/lab/machines/internal/host"
)

// View is all that the resources are made of.
type View struct {
	host.Snapshot
	Name, Address, Role string
	Platform            string
	SecureBoot          bool
	// Schematic is the YAML of the running image's schematic.
	Schematic string
	// Persistent is the configuration on disk: not the active one while a change is staged.
	Persistent config.Provider
	// Applied: it was handed over in this boot.
	Applied bool
	// Unconfirmed: the image that runs is an upgrade that can still be taken back.
	Unconfirmed bool
	Stage       runtime.MachineStage
	Ready       bool
	Unmet       []runtime.UnmetCondition
	Services    []Service
	Members     []Member
}

// Service of a machine, as `talosctl services` lists it.
type Service struct {
	ID, State, Message string
	Healthy, Unknown   bool
}

// Member of the cluster.
type Member struct {
	Name, Address, Role string
}
