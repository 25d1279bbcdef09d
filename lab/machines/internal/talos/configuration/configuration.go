// Package configuration reads what a machine configuration says, with Talos' own loader.
package configuration

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/release"
	"talos-gpu/lab/machines/internal/talos/userfiles"
)

// installed is the mode of a machine that Talos is installed on: what the validation asks for.
type installed struct{}

func (installed) String() string        { return "metal" }
func (installed) RequiresInstall() bool { return false }
func (installed) InContainer() bool     { return false }

// Load reads and validates a configuration with Talos' own loader. Machinery 1.13 knows no document that is new in 1.14.
func Load(data []byte) (config.Provider, error) { return LoadFor(data, installed{}) }

// LoadFor reads and validates it for a mode: installed on a disk, or about to be.
func LoadFor(data []byte, mode validation.RuntimeMode) (config.Provider, error) {
	provider, err := configloader.NewFromBytes(data)
	if err != nil {
		return nil, err
	}

	if provider.RawV1Alpha1() == nil {
		return nil, errors.New("the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?")
	}

	_, err = provider.Validate(mode)

	return provider, err
}

// Warnings of the validation, which an answer to apply-config carries.
func Warnings(provider config.Provider) []string {
	list, _ := provider.Validate(installed{}) //nolint:errcheck // load has validated it

	return list
}

// Supported refuses a Kubernetes release that the running Talos doesn't know (talos v1.13.0
// config/types/v1alpha1/v1alpha1_validation.go, RuntimeValidate).
func Supported(provider config.Provider, talosVersion string) error {
	talos, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: talosVersion})
	if err != nil {
		return err
	}

	version := KubernetesVersion(provider)
	if version == "" || release.Minor(talosVersion) > NewestKnown {
		return nil
	}

	kubernetes, err := compatibility.ParseKubernetesVersion(strings.TrimPrefix(version, "v"))
	if err != nil {
		return err
	}

	return kubernetes.SupportedWith(talos)
}

// NewestKnown minor of Talos to the compatibility tables of machinery 1.13.
const NewestKnown = 13

// NeedsReboot says why a change of configuration can't be applied to the running machine; nil when it can
// (talos v1.13.0 internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go, CanApplyImmediate). From 1.14 on every
// change is applied live.
func NeedsReboot(active, wanted config.Provider) error {
	current, next := active.RawV1Alpha1(), wanted.RawV1Alpha1().DeepCopy()

	next.ConfigDebug, next.ClusterConfig = current.ConfigDebug, current.ClusterConfig

	if was, is := current.MachineConfig, next.MachineConfig; was != nil && is != nil {
		is.MachineCA, is.MachineAcceptedCAs, is.MachineTime, is.MachineCertSANs = was.MachineCA, was.MachineAcceptedCAs, was.MachineTime, was.MachineCertSANs   //nolint:staticcheck
		is.MachineInstall, is.MachineNetwork, is.MachineSysfs, is.MachineSysctls = was.MachineInstall, was.MachineNetwork, was.MachineSysfs, was.MachineSysctls //nolint:staticcheck
		is.MachineLogging, is.MachineControlPlane, is.MachineKubelet, is.MachineKernel = was.MachineLogging, was.MachineControlPlane, was.MachineKubelet, was.MachineKernel
		is.MachineRegistries, is.MachinePods, is.MachineSeccompProfiles = was.MachineRegistries, was.MachinePods, was.MachineSeccompProfiles //nolint:staticcheck
		is.MachineNodeAnnotations, is.MachineNodeLabels, is.MachineNodeTaints = was.MachineNodeAnnotations, was.MachineNodeLabels, was.MachineNodeTaints

		if had, has := was.MachineFeatures, is.MachineFeatures; had != nil && has != nil {
			has.KubernetesTalosAPIAccessConfig, has.KubePrismSupport, has.HostDNSSupport = had.KubernetesTalosAPIAccessConfig, had.KubePrismSupport, had.HostDNSSupport
			has.ImageCacheSupport, has.FeatureNodeAddressSortAlgorithm = had.ImageCacheSupport, had.FeatureNodeAddressSortAlgorithm
		}
	}

	if reflect.DeepEqual(current, next) {
		return nil
	}

	diff, err := configdiff.DiffConfigs(container.NewV1Alpha1(current), container.NewV1Alpha1(next))
	if err != nil {
		return err
	}

	return fmt.Errorf("this config change can't be applied in immediate mode\ndiff:\n%s", diff)
}

// KernelModules that it loads, by name.
func KernelModules(provider config.Provider) []string {
	var names []string
	for _, module := range provider.Machine().Kernel().Modules() {
		names = append(names, module.Name())
	}

	return names
}

// UserFiles that it writes at boot.
func UserFiles(provider config.Provider) ([]userfiles.File, error) {
	items, err := provider.Machine().Files()
	if err != nil {
		return nil, fmt.Errorf("error generating extra files: %w", err)
	}

	list := make([]userfiles.File, 0, len(items))
	for _, item := range items {
		list = append(list, userfiles.File{Path: item.Path(), Content: item.Content(), Op: item.Op(), Permissions: item.Permissions()})
	}

	return list, nil
}

// KubernetesVersion of its kubelet's image, e.g. v1.34.1.
func KubernetesVersion(provider config.Provider) string {
	image, _, _ := strings.Cut(provider.Machine().Kubelet().Image(), "@")

	return image[strings.LastIndex(image, ":")+1:]
}

// NodeLabels of the configuration, the role and the extensions; NodeAnnotations likewise. The extensions' items go to
// both, each where its value is allowed: a schematic's ID of 64 characters is too long for a label (talos v1.13.0
// controllers/k8s/node_label_spec.go, node_annotation_spec.go).
func NodeLabels(provider config.Provider, role string, extensions []host.Extension) map[string]string {
	labels := maps.Clone(map[string]string(provider.Machine().NodeLabels()))
	if labels == nil {
		labels = map[string]string{}
	}

	if role == "controlplane" {
		labels["node-role.kubernetes.io/control-plane"] = ""
	}

	for _, extension := range extensions {
		labels["extensions.talos.dev/"+extension.Name] = extension.Version
	}

	return labels
}

// NodeAnnotations of the configuration and the schematic.
func NodeAnnotations(provider config.Provider, schematicID string) map[string]string {
	annotations := maps.Clone(map[string]string(provider.Machine().NodeAnnotations()))
	if annotations == nil {
		annotations = map[string]string{}
	}

	annotations["extensions.talos.dev/schematic"] = schematicID

	return annotations
}

// RegisterWithTaints are the taints that its kubelet registers the node with.
func RegisterWithTaints(provider config.Provider) []host.Taint {
	items, _ := provider.Machine().Kubelet().ExtraConfig()["registerWithTaints"].([]any)

	var taints []host.Taint

	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			text := func(name string) string { s, _ := fields[name].(string); return s }
			taints = append(taints, host.Taint{Key: text("key"), Value: text("value"), Effect: text("effect")})
		}
	}

	return slices.Clip(taints)
}
