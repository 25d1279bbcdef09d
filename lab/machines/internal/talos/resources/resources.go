// Package resources shows a machine as Talos' COSI resources. It has those that the package's program, the doctor and
// `discover` read with `talosctl get`.
package resources

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/cosi-project/runtime/pkg/state/registry"
	machineryconfig "github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/extensions"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/manifests"
)

// View is the data from which the resources are made.
type View struct {
	host.Snapshot
	Name, Platform         string
	SecureBoot             bool
	SchematicID, Schematic string // SchematicID and Schematic (YAML) of the running image
	// Persistent is the configuration on disk. It differs from the active one while a change is staged.
	Persistent  machineryconfig.Provider
	StaticPods  map[string]string // the image of each static pod that the kubelet runs, by name
	Applied     bool              // whether Persistent was applied in this boot
	Unconfirmed bool              // whether the running image is an upgrade that can still be reverted
	Stage       runtime.MachineStage
	Ready       bool
	Unmet       []runtime.UnmetCondition
}

// Service is a service of a machine, as `talosctl services` lists it.
type Service struct {
	ID, State, Message string
	Healthy            bool
}

// State is the resource state of one boot of a machine.
type State struct {
	state.State
	shown map[string]resource.Metadata
}

// NewState makes a state with the registered resource types and without resources of a machine. For another type,
// `talosctl get` reports that the type is unknown.
func NewState(ctx context.Context) (*State, error) {
	st := &State{State: state.WrapCore(namespaced.NewState(inmem.Build)), shown: map[string]resource.Metadata{}}
	namespaces, definitions := registry.NewNamespaceRegistry(st.State), registry.NewResourceRegistry(st.State)
	if err := namespaces.RegisterDefault(ctx); err != nil {
		return nil, err
	}
	if err := definitions.RegisterDefault(ctx); err != nil {
		return nil, err
	}
	for _, namespace := range []string{runtime.NamespaceName, config.NamespaceName, hardware.NamespaceName, k8s.NamespaceName, k8s.ControlPlaneNamespaceName} {
		if err := namespaces.Register(ctx, namespace, ""); err != nil {
			return nil, err
		}
	}
	for _, kind := range []meta.ResourceWithRD{
		&config.MachineConfig{}, &hardware.PCIDevice{}, &runtime.ExtensionStatus{}, &runtime.MachineStatus{}, &runtime.MetaKey{},
		&runtime.PlatformMetadata{}, &runtime.SecurityState{}, &block.DiscoveredVolume{}, &k8s.StaticPodStatus{}, &k8s.Manifest{},
	} {
		if err := definitions.Register(ctx, kind); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// Show makes the state show a view. Existing resources get a new version, and resources that the view lacks are
// destroyed.
func (st *State) Show(ctx context.Context, view View) error {
	gone := st.shown
	st.shown = map[string]resource.Metadata{}
	for _, wanted := range slices.Concat(configuration(view), status(view), extensionStatuses(view), devices(view), volumes(), staticPods(view), kubernetesManifests(view)) {
		key := resource.String(wanted)
		st.shown[key] = wanted.Metadata().Copy()
		delete(gone, key)
		current, err := st.Get(ctx, wanted.Metadata())
		switch {
		case state.IsNotFoundError(err):
			err = st.Create(ctx, wanted)
		case err == nil:
			wanted.Metadata().SetVersion(current.Metadata().Version())
			err = st.Update(ctx, wanted)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	for key, pointer := range gone {
		if err := st.Destroy(ctx, pointer); err != nil && !state.IsNotFoundError(err) {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// configuration returns the active configuration as `v1alpha1`. The configuration on disk is `persistent`, after one
// was applied in this boot (seen on Talos v1.13.0; talos v1.13.0 v1alpha1_runtime.go, SetPersistedConfig). Before Talos
// 1.10 that is only a file (talos v1.9.6 resources/config).
func configuration(view View) []resource.Resource {
	found := []resource.Resource{config.NewMachineConfig(view.Config)}
	if host.Minor(view.TalosVersion) >= 10 && view.Applied {
		found = append(found, config.NewMachineConfigWithID(view.Persistent, config.PersistentID))
	}
	return found
}

func status(view View) []resource.Resource {
	machineStatus := runtime.NewMachineStatus()
	machineStatus.TypedSpec().Stage = view.Stage
	machineStatus.TypedSpec().Status = runtime.MachineStatusStatus{Ready: view.Ready, UnmetConditions: view.Unmet}
	platform := runtime.NewPlatformMetadataSpec(runtime.NamespaceName, runtime.PlatformMetadataID)
	platform.TypedSpec().Platform = view.Platform
	security := runtime.NewSecurityStateSpec(runtime.NamespaceName)
	// The field says whether the firmware enforces secure boot, not whether the image is signed (talos v1.13.0
	// controllers/runtime/security_state.go).
	security.TypedSpec().SecureBoot = view.SecureBoot
	security.TypedSpec().BootedWithUKI = true
	security.TypedSpec().ModuleSignatureEnforced = true
	list := []resource.Resource{machineStatus, platform, security}
	// The tag "upgrade" has the boot entry of the previous image (talos v1.13.0 pkg/machinery/meta/constants.go).
	if view.Unconfirmed {
		key := runtime.NewMetaKey(runtime.NamespaceName, runtime.MetaKeyTagToID(6))
		key.TypedSpec().Value = "A"
		list = append(list, key)
	}
	return list
}

// extensionStatuses returns a numbered resource per extension. The virtual extension `schematic` follows, whose version
// is the schematic's ID. `modules.dep` exists if an extension has kernel modules (seen on Talos v1.13.0; talos v1.13.0
// controllers/runtime/extension_status.go and internal/pkg/extensions/kernel_modules.go; image-factory's schematic
// extension).
func extensionStatuses(view View) (list []resource.Resource) {
	add := func(id string, metadata extensions.Metadata) {
		r := runtime.NewExtensionStatus(runtime.NamespaceName, id)
		*r.TypedSpec() = extensions.Layer{Image: id + ".sqsh", Metadata: metadata}
		list = append(list, r)
	}
	withModules := false
	for i, extension := range view.Extensions {
		withModules = withModules || strings.Contains(extension.Name, "kernel-modules")
		add(fmt.Sprint(i), extensions.Metadata{
			Name:          extension.Name,
			Version:       extension.Version,
			Author:        "Sidero Labs",
			Description:   extension.Reference,
			Compatibility: extensions.Compatibility{Talos: extensions.Constraint{Version: ">= v1.0.0"}},
		})
	}
	add(fmt.Sprint(len(view.Extensions)), extensions.Metadata{
		Name:        "schematic",
		Version:     view.SchematicID,
		Author:      "Image Factory",
		Description: "Virtual extension which specifies the schematic of the image built with Image Factory.",
		ExtraInfo:   view.Schematic,
	})
	if withModules {
		add("modules.dep", extensions.Metadata{
			Name:        "modules.dep",
			Version:     "6.18.1-talos",
			Author:      "Talos Machinery",
			Description: "Combined modules.dep for all extensions",
		})
	}
	return list
}

// staticPods returns the status of each static pod of a control plane, as the kubelet reports it (talos v1.13.0
// controllers/k8s/kubelet_static_pod.go).
func staticPods(view View) (list []resource.Resource) {
	for name, image := range view.StaticPods {
		r := k8s.NewStaticPodStatus(k8s.NamespaceName, fmt.Sprintf("kube-system/%s-%s", name, view.Name))
		r.TypedSpec().PodStatus = map[string]any{
			"phase":             "Running",
			"conditions":        []any{map[string]any{"type": "Ready", "status": "True"}},
			"containerStatuses": []any{map[string]any{"name": name, "image": image, "ready": true}},
		}
		list = append(list, r)
	}
	return list
}

// kubernetesManifests returns the manifests of a control plane (talos v1.13.0 controllers/k8s/manifest.go).
func kubernetesManifests(view View) (list []resource.Resource) {
	for _, manifest := range manifests.Of(view.Config) {
		r := k8s.NewManifest(k8s.ControlPlaneNamespaceName, manifest.Name)
		for _, object := range manifest.Objects {
			r.TypedSpec().Items = append(r.TypedSpec().Items, k8s.SingleManifest{Object: object.Object})
		}
		list = append(list, r)
	}
	return list
}

// devices returns the machine's cards on the PCI bus, with or without a driver. The names are those of pci.ids (talos
// v1.13.0 controllers/hardware/pcidevices.go, go-pcidb). A card that is newer than the release has no name.
func devices(view View) (list []resource.Resource) {
	for index, gpu := range nvidia.Each(view.GPUs) {
		class, vendor, _ := strings.Cut(gpu.PCIDevice, "_")
		if len(class) != 4 {
			class, vendor = "0302", "10de"
		}
		r := hardware.NewPCIDeviceInfo(nvidia.BusID(index))
		*r.TypedSpec() = hardware.PCIDeviceSpec{
			Class:      "Display controller",
			Subclass:   map[string]string{"00": "VGA compatible controller", "02": "3D controller"}[class[2:]],
			Vendor:     "NVIDIA Corporation",
			Product:    gpu.PCIName,
			ClassID:    "0x" + class[:2],
			SubclassID: "0x" + class[2:],
			VendorID:   "0x" + vendor,
		}
		if gpu.PCIID != "" {
			r.TypedSpec().ProductID = "0x" + gpu.PCIID
		}
		if view.DriverVersion != "" {
			r.TypedSpec().Driver = "nvidia"
		}
		list = append(list, r)
	}
	return list
}

// volumes returns the partitions of a machine that boots with systemd-boot. A machine that boots with GRUB also has
// BOOT and BIOS (seen on Talos v1.13.0; talos v1.14.1 bootloader/sdboot/sdboot.go and grub/install.go,
// PrepareBootPartitions).
func volumes() (list []resource.Resource) {
	labels := []string{
		constants.EFIPartitionLabel,
		constants.MetaPartitionLabel,
		constants.StatePartitionLabel,
		constants.EphemeralPartitionLabel,
	}
	for index, label := range labels {
		r := block.NewDiscoveredVolume(block.NamespaceName, fmt.Sprintf("sda%d", index+1))
		spec := r.TypedSpec()
		spec.Type, spec.Parent, spec.PartitionLabel, spec.PartitionIndex = "partition", "sda", label, uint(index+1)
		list = append(list, r)
	}
	return list
}
