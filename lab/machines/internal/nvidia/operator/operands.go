package operator

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// operand is what distinguishes a DaemonSet of the operator from the others (operands.yaml).
type operand struct {
	Name, Deploy, Looks, Starts string
	Init                        []corev1.Container
	Main                        corev1.Container
	files                       []file
	folders                     []string  // more folders of the host, mounted at the same path
	component                   component // the operand's part of the policy
}

// file is a ConfigMap's file at a path of the operand's containers. The operator makes the ConfigMap from content. With
// "" another client has made it.
type file struct{ configMap, key, at, content string }

// entrypoint waits for driver-ready and adds its content to the environment
// (assets/state-device-plugin/0400_configmap.yaml).
const entrypoint = `#!/bin/sh
ready=/run/nvidia/validations/driver-ready
until [ -f "$ready" ]; do
  echo "waiting for the driver to be validated"
  sleep 5
done
set -a
. "$ready"
set +a
`

//go:embed operands.yaml
var assets []byte

// operands returns all operands of a policy, enabled or not (object_controls.go). Variables of the policy override
// those of the operator.
func (p policy) operands() (all []operand) {
	if err := yaml.UnmarshalStrict(assets, &all); err != nil {
		panic(err)
	}
	components := map[string]component{"operator-validator": p.Validator.component, "container-toolkit": p.Toolkit.component, "device-plugin": p.DevicePlugin.component,
		"gpu-feature-discovery": p.GFD, "mig-manager": p.MIGManager, "dcgm-exporter": p.DCGMExporter}
	validations := map[string]component{"driver": p.Validator.Driver, "toolkit": p.Validator.Toolkit, "cuda": p.Validator.CUDA, "plugin": p.Validator.Plugin}
	for i := range all {
		o := &all[i]
		o.component = components[o.Deploy]
		o.Main.Image, o.Main.Args = o.component.reference(p.operatorImage), o.component.Args
		for i := range o.Init {
			o.Init[i].Image = p.Validator.reference(p.operatorImage)
			if o.Init[i].Name == "driver-validation" {
				o.Init[i].Env = append(o.Init[i].Env, environment("DRIVER_INSTALL_DIR", p.HostPaths.DriverInstallDir)...)
			}
		}
		if o.Starts != "" {
			o.Main.Command = []string{"/bin/sh", "-c", "/bin/entrypoint.sh"}
			o.files = append(o.files, file{o.Main.Name + "-entrypoint", "entrypoint.sh", "/bin/entrypoint.sh", entrypoint + o.Starts + "\n"})
		}
		switch o.Deploy {
		case "operator-validator":
			for i, validation := range o.Init {
				name, _, _ := strings.Cut(validation.Name, "-")
				o.Init[i].Env = withOverrides(validation.Env, p.Validator.Env, validations[name].Env)
			}
		case "container-toolkit":
			// Without NRI the toolkit wants to change containerd's configuration (TransformToolkit,
			// transformForRuntime).
			o.Main.Env = append(o.Main.Env, environment("ROOT", p.Toolkit.InstallDir)...)
			o.folders = []string{p.Toolkit.InstallDir, "/run/nvidia/toolkit", "/etc/containerd/conf.d"}
			if p.CDI.NRI {
				o.folders[2] = "/var/run/nri"
				o.Main.Env = append(o.Main.Env, environment("ENABLE_NRI_PLUGIN", "true", "NRI_SOCKET", "/var/run/nri/nri.sock")...)
			}
		case "device-plugin":
			if p.cdi() && p.Toolkit.enabled() {
				o.Main.Env = append(o.Main.Env, environment("NVIDIA_CDI_HOOK_PATH", p.Toolkit.InstallDir+"/toolkit/nvidia-cdi-hook")...)
			}
			if p.cdi() { // TransformDevicePlugin
				o.Main.Env = withOverrides(o.Main.Env, environment("CDI_ENABLED", "true", "DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri", "CDI_ANNOTATION_PREFIX", "cdi.k8s.io/"))
			}
			p.ofCards(o)
		case "gpu-feature-discovery":
			p.ofCards(o)
		case "mig-manager": // TransformMIGManager
			// Since v26.3 the manager makes the configuration itself. The operator's configuration has another variable
			// and is only the fallback.
			if p.atLeast(26, 3) {
				o.Main.Env[1].Name = "DEFAULT_CONFIG_FILE"
			}
			if len(o.Main.Args) > 0 { // the shell gets the args instead of its entrypoint
				o.Main.Command = o.Main.Command[:2]
			}
		}
		o.Main.Env = withOverrides(o.Main.Env, o.component.Env)
	}
	return all
}

// ofCards sets the MIG variables (applyMIGConfiguration) and the sharing configuration of operands that read the cards.
// With the real operator, the config-manager copies this configuration. It may select another entry of the ConfigMap
// for a node with a label.
func (p policy) ofCards(o *operand) {
	if p.MIG.Strategy != "" {
		o.Main.Env = append(o.Main.Env, environment("MIG_STRATEGY", p.MIG.Strategy)...)
	}
	if p.MIG.Strategy != "none" {
		o.Main.Env = append(o.Main.Env, environment("NVIDIA_MIG_MONITOR_DEVICES", "all")...)
	}
	if config := p.DevicePlugin.Config; config.Name != "" {
		o.Main.Env = append(o.Main.Env, environment("CONFIG_FILE", "/config/config.yaml")...)
		o.files = append(o.files, file{config.Name, config.Default, "/config/config.yaml", ""})
	}
}

// featureFiles is the folder where GPU feature discovery leaves labels for Node Feature Discovery
// (assets/gpu-feature-discovery/0500_daemonset.yaml).
const featureFiles = "/etc/kubernetes/node-feature-discovery/features.d"

// folders returns the host's folders that every operand mounts, and their paths in the containers.
func (p policy) folders() map[string]string {
	return map[string]string{
		"/run/nvidia/validations": "/run/nvidia/validations", "/": "/host", p.HostPaths.DriverInstallDir: "/driver-root", "/var/run/cdi": "/var/run/cdi",
		"/var/lib/kubelet/device-plugins": "/var/lib/kubelet/device-plugins", featureFiles: featureFiles,
	}
}

// daemonSet completes an operand with selector, runtime class, files, folders, and the policy's settings for all
// DaemonSets.
func (p policy) daemonSet(o operand) *appsv1.DaemonSet {
	app, labels := map[string]string{"app": o.Name}, map[string]string{"app.kubernetes.io/managed-by": "gpu-operator"}
	maps.Copy(labels, p.Daemonsets.Labels)
	maps.Copy(labels, app)
	pod := corev1.PodSpec{
		NodeSelector:      map[string]string{deployPrefix + o.Deploy: "true"},
		PriorityClassName: "system-node-critical",
		Tolerations:       p.Daemonsets.Tolerations,
		InitContainers:    o.Init,
		Containers:        []corev1.Container{o.Main},
	}
	annotations := map[string]string{}
	switch {
	case o.Deploy == "container-toolkit":
	case p.CDI.NRI:
		annotations["nvidia.cdi.k8s.io/container."+cmp.Or(o.Looks, o.Main.Name)] = "management.nvidia.com/gpu=all"
	default:
		pod.RuntimeClassName = &p.Operator.RuntimeClass
	}
	if len(pod.Tolerations) == 0 {
		pod.Tolerations = []corev1.Toleration{{
			Key:      "nvidia.com/gpu",
			Operator: corev1.TolerationOpExists,
			Effect:   corev1.TaintEffectNoSchedule,
		}}
	}
	var mounts []corev1.VolumeMount
	volume := func(name string, source corev1.VolumeSource, mount corev1.VolumeMount) {
		mount.Name = name
		mounts, pod.Volumes = append(mounts, mount), append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
	folders, kind, mode := p.folders(), corev1.HostPathDirectoryOrCreate, int32(0o700)
	for _, folder := range o.folders {
		folders[folder] = folder
	}
	for i, folder := range slices.Sorted(maps.Keys(folders)) {
		volume(fmt.Sprintf("host-%d", i), corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: &kind}}, corev1.VolumeMount{MountPath: folders[folder]})
	}
	for _, file := range o.files {
		source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: file.configMap}, DefaultMode: &mode}
		volume(file.configMap, corev1.VolumeSource{ConfigMap: source}, corev1.VolumeMount{MountPath: file.at, SubPath: file.key})
	}
	privileged := true
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].VolumeMounts, containers[i].SecurityContext = mounts, &corev1.SecurityContext{Privileged: &privileged}
		}
	}
	return &appsv1.DaemonSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            o.Name,
			Namespace:       p.namespace,
			Labels:          labels,
			OwnerReferences: []metav1.OwnerReference{p.owner},
		},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, Spec: pod}},
	}
}
