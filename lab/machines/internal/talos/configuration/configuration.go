// Package configuration reads a machine configuration with Talos' loader.
package configuration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/userfiles"
)

// Mode is the mode of a machine for validation. A machine that is not installed yet needs a disk in its configuration.
type Mode struct{ ToInstall bool }

func (Mode) String() string          { return "metal" }
func (m Mode) RequiresInstall() bool { return m.ToInstall }
func (Mode) InContainer() bool       { return false }

// Load reads and validates a configuration with the loader of Talos 1.14. It rejects what an older release rejects.
func Load(data []byte, version string, mode Mode) (provider config.Provider, warnings []string, err error) {
	minor := host.Minor(version)
	if err := unknownKind(data, minor); err != nil {
		return nil, nil, err
	}
	if provider, err = configloader.NewFromBytes(data); err != nil {
		return nil, nil, err
	}
	if provider.RawV1Alpha1() == nil {
		return nil, nil, errors.New("the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?")
	}
	// The machinery compares the Kubernetes release with its Talos release, but this machine runs another one.
	warnings, err = provider.ValidateAsClient(mode, validation.WithLocal())
	if minor < documentsFrom {
		warnings = slices.DeleteFunc(warnings, isOfDocuments)
		// talos v1.13.0 config/types/v1alpha1/v1alpha1_validation.go. Since 1.14 a document may contain the
		// installation disk.
		if installation := provider.RawV1Alpha1().MachineConfig; mode.ToInstall && installation != nil && installation.MachineInstall == nil { //nolint:staticcheck
			err = multierror.Append(err, fmt.Errorf("v1alpha1.Config: %w", multierror.Append(nil, fmt.Errorf("install instructions are required in %q mode", mode))))
		}
	}
	return provider, warnings, err
}

// isOfDocuments reports whether a warning recommends a document that older releases do not have (talos v1.14.1
// config/types/v1alpha1/v1alpha1_validation.go).
func isOfDocuments(warning string) bool {
	return strings.HasPrefix(warning, ".machine.files is deprecated") || strings.HasPrefix(warning, ".machine.baseRuntimeSpecOverrides is deprecated")
}

// NeedsReboot returns why a change of configuration cannot be applied to the running machine, or nil (talos v1.13.0
// internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go, CanApplyImmediate). Talos applies every change live
// since 1.14; the caller handles that.
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

// KernelModules returns the names of the kernel modules that `machine.kernel` and documents load.
func KernelModules(provider config.Provider) (names []string) {
	for _, module := range provider.KernelModuleConfigs() {
		names = append(names, module.Name())
	}
	return names
}

// Isolates reports whether a boot with the configuration has workload isolation (talos v1.14.1
// internal/app/machined/pkg/sandboxd/enabled.go).
func Isolates(provider config.Provider) bool {
	profile := provider.SecurityProfileConfig()
	return profile != nil && profile.WorkloadIsolation()
}

// InstallerImage returns the image of the first installation.
func InstallerImage(provider config.Provider) string {
	if document := provider.UnattendedInstallConfig(); document != nil {
		return document.InstallerImage()
	}
	return provider.Machine().Install().Image()
}

// UserFiles returns the files of the configuration that Talos writes at boot.
func UserFiles(provider config.Provider) (list []userfiles.File, err error) {
	items, err := provider.Machine().Files()
	if err != nil {
		return nil, fmt.Errorf("error generating extra files: %w", err)
	}
	for _, item := range items {
		list = append(list, userfiles.File{
			Path:        item.Path(),
			Content:     item.Content(),
			Op:          item.Op(),
			Permissions: item.Permissions(),
		})
	}
	return list, nil
}

// KubernetesVersion returns the tag of the kubelet's image, e.g. v1.34.1.
func KubernetesVersion(provider config.Provider) string {
	image, _, _ := strings.Cut(provider.K8sKubeletConfig().Image(), "@")
	return image[strings.LastIndex(image, ":")+1:]
}

// StaticPodImages returns the images of a control plane's static pods by part. A disabled part is absent, and a worker
// has none.
func StaticPodImages(provider config.Provider) map[string]string {
	images := map[string]string{}
	if machine := provider.Machine(); machine == nil || !machine.Type().IsControlPlane() {
		return images
	}
	if server := provider.K8sAPIServerConfig(); server != nil {
		images["kube-apiserver"] = server.Image()
	}
	if manager := provider.K8sControllerManagerConfig(); manager != nil && manager.Enabled() {
		images["kube-controller-manager"] = manager.Image()
	}
	if scheduler := provider.K8sSchedulerConfig(); scheduler != nil && scheduler.Enabled() {
		images["kube-scheduler"] = scheduler.Image()
	}
	return images
}

// NodeWants returns what Talos wants on the node because of the configuration and the image; see host.Snapshot. Talos'
// reader adds the label and the taint of a control plane, unless a document sets the node's labels and taints. The
// schematic's ID has 64 characters, which is too long for a label, so it is an annotation (talos v1.13.9 and v1.14.1
// controllers/k8s/node_label_spec.go, node_annotation_spec.go, node_taint_spec.go).
func NodeWants(provider config.Provider, schematicID string, extensions []host.Extension) map[string]string {
	wants := map[string]string{"annotation extensions.talos.dev/schematic": schematicID}
	node := provider.K8sNodeConfig()
	kinds := map[string]map[string]string{
		"label ":      node.Labels(),
		"annotation ": node.Annotations(),
		"taint ":      node.Taints(),
	}
	for kind, said := range kinds {
		for key, value := range said {
			if kind == "taint " && !strings.Contains(value, ":") {
				value = ":" + value // without a colon it is only the effect
			}
			wants[kind+key] = value
		}
	}
	for _, extension := range extensions {
		wants["label extensions.talos.dev/"+extension.Name] = extension.Version
	}
	return wants
}

// RegisterWithTaints returns the taints with which the kubelet registers the node.
func RegisterWithTaints(provider config.Provider) (taints []corev1.Taint) {
	text, err := json.Marshal(provider.K8sKubeletConfig().ExtraConfig()["registerWithTaints"])
	if err == nil {
		_ = json.Unmarshal(text, &taints) //nolint:errcheck // a kubelet rejects invalid taints
	}
	return taints
}

// HostnameOf returns the host name of a machine after a boot with a configuration. Its kubelet registers the node with
// this name. It is the configuration's name, or a name that Talos derives from the machine's identity (talos v1.13.0
// internal/app/machined/pkg/controllers/network/hostname_config.go). The lab has no DHCP that sets names.
func HostnameOf(active config.Provider, key string) string {
	if named := active.NetworkHostnameConfig(); named != nil && named.Hostname() != "" {
		return named.Hostname()
	}
	sum := sha256.Sum256([]byte(key))
	id := hex.EncodeToString(sum[:])
	return "talos-" + id[:3] + "-" + id[3:6]
}
