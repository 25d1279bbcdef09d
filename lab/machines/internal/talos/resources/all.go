package resources

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/extensions"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/files"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/release"
)

// all makes the resources of a view.
func all(view View) []resource.Resource {
	return slices.Concat(configuration(view), status(view), extensionStatuses(view), kernel(view), node(view), members(view), devices(view))
}

// configuration: `v1alpha1` is the active one, `persistent` the one on disk, as soon as one was handed over in this boot (seen on Talos v1.13.0;
// talos v1.13.0 v1alpha1_runtime.go, SetPersistedConfig). Before Talos 1.10 that is a file alone (talos v1.9.6 resources/config).
func configuration(view View) []resource.Resource {
	machineType := config.NewMachineType()
	machineType.SetMachineType(kind(view.Role))

	found := []resource.Resource{config.NewMachineConfig(view.Config), machineType}
	if release.Minor(view.TalosVersion) >= 10 && view.Applied {
		found = append(found, config.NewMachineConfigWithID(view.Persistent, config.PersistentID))
	}

	return found
}

func status(view View) []resource.Resource {
	machineStatus := runtime.NewMachineStatus()
	machineStatus.TypedSpec().Stage = view.Stage
	machineStatus.TypedSpec().Status = runtime.MachineStatusStatus{Ready: view.Ready, UnmetConditions: view.Unmet}

	version := runtime.NewVersion()
	version.TypedSpec().Name = "Talos"
	version.TypedSpec().Version = view.TalosVersion

	platform := runtime.NewPlatformMetadataSpec(runtime.NamespaceName, runtime.PlatformMetadataID)
	platform.TypedSpec().Platform = view.Platform
	platform.TypedSpec().Hostname = view.Name

	security := runtime.NewSecurityStateSpec(runtime.NamespaceName)
	// Whether the firmware enforces it, not whether the image is signed (talos v1.13.0 controllers/runtime/security_state.go).
	security.TypedSpec().SecureBoot = view.SecureBoot
	security.TypedSpec().BootedWithUKI = true
	security.TypedSpec().ModuleSignatureEnforced = true

	list := []resource.Resource{machineStatus, version, platform, security}

	if view.Unconfirmed { // the tag "upgrade" names the entry to go back to (talos v1.13.0 pkg/machinery/meta/constants.go)
		key := runtime.NewMetaKey(runtime.NamespaceName, runtime.MetaKeyTagToID(6))
		key.TypedSpec().Value = "A"
		list = append(list, key)
	}

	// A service is a resource while it runs: one that waits or has finished is none (talos v1.13.0
	// controllers/v1alpha1/service.go).
	for _, service := range view.Services {
		if service.State != "Running" {
			continue
		}

		r := v1alpha1.NewService(service.ID)
		*r.TypedSpec() = v1alpha1.ServiceSpec{Running: true, Healthy: service.Healthy, Unknown: service.Unknown}
		list = append(list, r)
	}

	return list
}

// extensionStatuses: one per extension, numbered, the virtual extension `schematic` whose version is its ID, and `modules.dep` where an
// extension has kernel modules (seen on Talos v1.13.0; talos v1.13.0 controllers/runtime/extension_status.go and
// internal/pkg/extensions/kernel_modules.go; image-factory's schematic extension).
func extensionStatuses(view View) []resource.Resource {
	layers := make([]extensions.Metadata, 0, len(view.Extensions)+1)

	for _, extension := range view.Extensions {
		layers = append(layers, extensions.Metadata{
			Name: extension.Name, Version: extension.Version, Author: "Sidero Labs", Description: extension.Reference,
			Compatibility: extensions.Compatibility{Talos: extensions.Constraint{Version: ">= v1.0.0"}},
		})
	}

	layers = append(layers, extensions.Metadata{
		Name: "schematic", Version: view.SchematicID, Author: "Image Factory",
		Description: "Virtual extension which specifies the schematic of the image built with Image Factory.", ExtraInfo: view.Schematic,
	})

	list := make([]resource.Resource, 0, len(layers))

	for i, metadata := range layers {
		id := fmt.Sprint(i)
		r := runtime.NewExtensionStatus(runtime.NamespaceName, id)
		*r.TypedSpec() = extensions.Layer{Image: id + ".sqsh", Metadata: metadata}
		list = append(list, r)
	}

	withModules := func(extension host.Extension) bool { return strings.Contains(extension.Name, "kernel-modules") }
	if slices.ContainsFunc(view.Extensions, withModules) {
		r := runtime.NewExtensionStatus(runtime.NamespaceName, "modules.dep")
		*r.TypedSpec() = extensions.Layer{Image: "modules.dep.sqsh", Metadata: extensions.Metadata{
			Name: "modules.dep", Version: "6.18.1-talos", Author: "Talos Machinery", Description: "Combined modules.dep for all extensions",
		}}
		list = append(list, r)
	}

	return list
}

func kernel(view View) []resource.Resource {
	var list []resource.Resource

	for _, name := range view.Modules {
		r := runtime.NewLoadedKernelModule(runtime.NamespaceName, name)
		*r.TypedSpec() = runtime.LoadedKernelModuleSpec{State: "Live", Address: "0x0000000000000000"}
		list = append(list, r)
	}

	for _, module := range view.Config.Machine().Kernel().Modules() {
		r := runtime.NewKernelModuleSpec(runtime.NamespaceName, module.Name())
		*r.TypedSpec() = runtime.KernelModuleSpecSpec{Name: module.Name(), Parameters: module.Parameters()}
		// items of one name share a resource; the last one counts (talos v1.13.0 controllers/runtime/kernel_module_config.go)
		list = slices.DeleteFunc(list, func(other resource.Resource) bool {
			return other.Metadata().Type() == r.Metadata().Type() && other.Metadata().ID() == r.Metadata().ID()
		})
		list = append(list, r)
	}

	for _, key := range slices.Sorted(maps.Keys(view.Sysctls)) {
		id := "proc.sys." + key
		spec := runtime.NewKernelParamSpec(runtime.NamespaceName, id)
		spec.TypedSpec().Value = view.Sysctls[key]
		current := runtime.NewKernelParamStatus(runtime.NamespaceName, id)
		current.TypedSpec().Current = view.Sysctls[key]
		list = append(list, spec, current)
	}

	return list
}

func node(view View) []resource.Resource {
	nodename := k8s.NewNodename(k8s.NamespaceName, k8s.NodenameID)
	nodename.TypedSpec().Nodename = view.Name
	list := []resource.Resource{nodename}

	for key, value := range view.NodeLabels {
		r := k8s.NewNodeLabelSpec(key)
		*r.TypedSpec() = k8s.NodeLabelSpecSpec{Key: key, Value: value}
		list = append(list, r)
	}

	for key, value := range view.NodeAnnotations {
		r := k8s.NewNodeAnnotationSpec(key)
		*r.TypedSpec() = k8s.NodeAnnotationSpecSpec{Key: key, Value: value}
		list = append(list, r)
	}

	for key, text := range view.NodeTaints {
		value, effect, found := strings.Cut(text, ":")
		if !found {
			value, effect = "", text
		}

		r := k8s.NewNodeTaintSpec(key)
		*r.TypedSpec() = k8s.NodeTaintSpecSpec{Key: key, Value: value, Effect: effect}
		list = append(list, r)
	}

	for _, name := range slices.Sorted(maps.Keys(view.CRIParts)) {
		r := files.NewEtcFileSpec(files.NamespaceName, "cri/conf.d/"+name)
		r.TypedSpec().Contents = []byte(view.CRIParts[name])
		r.TypedSpec().Mode = 0o600
		list = append(list, r)
	}

	return list
}

func members(view View) []resource.Resource {
	var list []resource.Resource

	for _, member := range view.Members {
		r := cluster.NewMember(cluster.NamespaceName, member.Name)
		*r.TypedSpec() = cluster.MemberSpec{
			NodeID: member.Name, Hostname: member.Name, MachineType: kind(member.Role),
			OperatingSystem: "Talos", // the release, which goes here too, is asked of the machine itself
		}

		if address, err := netip.ParseAddr(member.Address); err == nil {
			r.TypedSpec().Addresses = []netip.Addr{address}
		}

		list = append(list, r)
	}

	return list
}

// devices are the machine's cards on the PCI bus, driven or not.
func devices(view View) []resource.Resource {
	var list []resource.Resource

	index := 0

	for _, gpu := range view.GPUs {
		class, vendor, _ := strings.Cut(gpu.PCIDevice, "_")
		if len(class) != 4 {
			class, vendor = "0302", "10de"
		}

		for range nvidia.Count(gpu) {
			r := hardware.NewPCIDeviceInfo(nvidia.BusID(index))
			// The names are those of pci.ids (talos v1.13.0 controllers/hardware/pcidevices.go, go-pcidb); a card that is
			// younger than the release has none.
			*r.TypedSpec() = hardware.PCIDeviceSpec{
				Class: "Display controller", Subclass: subclasses[class[2:]], Vendor: "NVIDIA Corporation", Product: gpu.PCIName,
				ClassID: "0x" + class[:2], SubclassID: "0x" + class[2:], VendorID: "0x" + vendor,
			}

			if gpu.PCIID != "" {
				r.TypedSpec().ProductID = "0x" + gpu.PCIID
			}

			if view.DriverVersion != "" {
				r.TypedSpec().Driver = "nvidia"
			}

			list = append(list, r)
			index++
		}
	}

	return list
}

// subclasses of display controllers (pci.ids).
var subclasses = map[string]string{"00": "VGA compatible controller", "02": "3D controller"}

func kind(role string) machine.Type {
	if role == "controlplane" {
		return machine.TypeControlPlane
	}

	return machine.TypeWorker
}
