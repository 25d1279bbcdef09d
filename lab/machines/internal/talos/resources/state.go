package resources

import (
	"context"
	"fmt"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/cosi-project/runtime/pkg/state/registry"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/files"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
	"go.yaml.in/yaml/v4"
)

// kinds are the resources that an emulated machine has. `talosctl get` of another says that there is no such type.
var kinds = []meta.ResourceWithRD{
	&cluster.Member{},
	&config.MachineConfig{},
	&config.MachineType{},
	&files.EtcFileSpec{},
	&files.EtcFileStatus{},
	&hardware.PCIDevice{},
	&k8s.Nodename{},
	&k8s.NodeLabelSpec{},
	&k8s.NodeAnnotationSpec{},
	&k8s.NodeTaintSpec{},
	&runtime.ExtensionStatus{},
	&runtime.KernelModuleSpec{},
	&runtime.KernelParamSpec{},
	&runtime.KernelParamStatus{},
	&runtime.LoadedKernelModule{},
	&runtime.MachineStatus{},
	&runtime.MetaKey{},
	&runtime.PlatformMetadata{},
	&runtime.SecurityState{},
	&runtime.Version{},
	&v1alpha1.Service{},
}

// State is the resource state of one boot of a machine.
type State struct {
	state.State
	// mine are the resources that Sync made, to remove those that are no more.
	mine map[string]made
}

type made struct {
	pointer resource.Metadata
	spec    string
}

// NewState makes a state with the resource types registered and no machine resources.
func NewState(ctx context.Context) (*State, error) {
	st := &State{State: state.WrapCore(namespaced.NewState(inmem.Build)), mine: map[string]made{}}

	namespaces := registry.NewNamespaceRegistry(st.State)
	if err := namespaces.RegisterDefault(ctx); err != nil {
		return nil, err
	}

	definitions := registry.NewResourceRegistry(st.State)
	if err := definitions.RegisterDefault(ctx); err != nil {
		return nil, err
	}

	for _, namespace := range []string{
		v1alpha1.NamespaceName, cluster.NamespaceName, config.NamespaceName, files.NamespaceName, hardware.NamespaceName, k8s.NamespaceName,
	} {
		if err := namespaces.Register(ctx, namespace, ""); err != nil {
			return nil, err
		}
	}

	for _, kind := range kinds {
		if err := definitions.Register(ctx, kind); err != nil {
			return nil, err
		}
	}

	return st, nil
}

// Sync makes the state show a view: changed resources get a new version, gone ones are destroyed.
func (st *State) Sync(ctx context.Context, view View) error {
	seen := map[string]struct{}{}

	for _, wanted := range all(view) {
		key := resource.String(wanted)
		seen[key] = struct{}{}

		if err := st.put(ctx, key, wanted); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}

	for key, old := range st.mine {
		if _, ok := seen[key]; ok {
			continue
		}

		if err := st.Destroy(ctx, old.pointer); err != nil && !state.IsNotFoundError(err) {
			return fmt.Errorf("%s: %w", key, err)
		}

		delete(st.mine, key)
	}

	return nil
}

func (st *State) put(ctx context.Context, key string, wanted resource.Resource) error {
	text, err := yaml.Marshal(wanted.Spec())
	if err != nil {
		return err
	}

	old, ok := st.mine[key]
	st.mine[key] = made{pointer: wanted.Metadata().Copy(), spec: string(text)}

	switch {
	case !ok:
		return st.Create(ctx, wanted)
	case old.spec == string(text):
		return nil
	}

	current, err := st.Get(ctx, wanted.Metadata())
	if err != nil {
		return err
	}

	wanted.Metadata().SetVersion(current.Metadata().Version())

	return st.Update(ctx, wanted)
}
