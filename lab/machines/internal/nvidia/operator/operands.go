package operator

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operand is a DaemonSet of the operator, as far as it differs from the others (assets/*, v24.9 to v26.7).
type operand struct {
	name string
	// deploy is the last part of the node label that selects its nodes.
	deploy string
	// component is what the policy says of it; container what its container is called.
	component
	container string
	command   []string
	// own variables of the container; the policy's come last and win.
	own  []corev1.EnvVar
	init []corev1.Container
	// files of ConfigMaps, which all containers have.
	files []file
}

// file of a ConfigMap at a path of its containers. content makes the ConfigMap; "": somebody else has made it.
type file struct{ configMap, key, at, content string }

// started makes a script the operand's entrypoint.
func (o operand) started(script string) operand {
	o.command = []string{"/bin/sh", "-c", "/bin/entrypoint.sh"}
	o.files = append(o.files, file{o.container + "-entrypoint", "entrypoint.sh", "/bin/entrypoint.sh", script})
	return o
}

// entrypoint waits for driver-ready, takes its content into the environment, and becomes the image's program
// (assets/state-device-plugin/0400_configmap.yaml; that of the MIG manager, state-mig-manager/0420_configmap.yaml, has one line more).
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

const migLine = "export WITH_SHUTDOWN_HOST_GPU_CLIENTS=$IS_HOST_DRIVER\n"

const waitForToolkit = "until [ -f /run/nvidia/validations/toolkit-ready ]; do echo waiting for nvidia container stack to be setup; sleep 5; done"

// operands of a policy, whether it wants them or not.
func (p policy) operands() []operand {
	wait := []corev1.Container{container("toolkit-validation", p.Validator.reference(p.operatorImage), waitForToolkit)}
	plugin := operand{name: "nvidia-device-plugin-daemonset", deploy: "device-plugin", component: p.DevicePlugin.component, container: "nvidia-device-plugin", own: withOverrides(p.pluginEnv(), p.migEnv()), init: wait}
	discovery := operand{name: "gpu-feature-discovery", deploy: "gpu-feature-discovery", component: p.GFD, container: "gpu-feature-discovery", command: []string{"gpu-feature-discovery"},
		own: append(p.migEnv(), environment("GFD_FAIL_ON_INIT_ERROR", "true", "NVIDIA_VISIBLE_DEVICES", "all", "GFD_USE_NODE_FEATURE_API", "false")...), init: wait}
	// The configuration that shares cards. The real operator has its config-manager copy it, which may take another of the ConfigMap's for a labelled node.
	if config := p.DevicePlugin.Config; config.Name != "" {
		for _, o := range []*operand{&plugin, &discovery} {
			o.own = append(o.own, environment("CONFIG_FILE", "/config/config.yaml")...)
			o.files = append(o.files, file{config.Name, config.Default, "/config/config.yaml", ""})
		}
	}
	return []operand{
		p.validator(), plugin.started(entrypoint + "exec nvidia-device-plugin\n"), discovery, p.migManager(wait),
		{name: "nvidia-dcgm-exporter", deploy: "dcgm-exporter", component: p.DCGMExporter, container: "nvidia-dcgm-exporter", own: environment("DCGM_EXPORTER_LISTEN", ":9400"), init: wait},
	}
}

// pluginEnv are the device plugin's variables, and those of CDI (object_controls.go, TransformDevicePlugin).
func (p policy) pluginEnv() []corev1.EnvVar {
	env := environment("PASS_DEVICE_SPECS", "true", "FAIL_ON_INIT_ERROR", "true", "DEVICE_LIST_STRATEGY", "envvar", "DEVICE_ID_STRATEGY", "uuid",
		"NVIDIA_VISIBLE_DEVICES", "all", "NVIDIA_DRIVER_CAPABILITIES", "all")
	if !p.cdi() {
		return env
	}
	return withOverrides(env, environment("CDI_ENABLED", "true", "DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri", "CDI_ANNOTATION_PREFIX", "cdi.k8s.io/"))
}

// migEnv is what operands that look at cards are told of MIG (object_controls.go, applyMIGConfiguration).
func (p policy) migEnv() []corev1.EnvVar {
	switch p.MIG.Strategy {
	case "none":
		return environment("MIG_STRATEGY", "none")
	case "":
		return environment("NVIDIA_MIG_MONITOR_DEVICES", "all")
	}
	return environment("MIG_STRATEGY", p.MIG.Strategy, "NVIDIA_MIG_MONITOR_DEVICES", "all")
}

// validator sleeps after its validations, which run one after the other; on its way out it takes the markers along. The policy's variables win.
func (p policy) validator() operand {
	o := operand{name: "nvidia-operator-validator", deploy: "operator-validator", component: p.Validator.component, container: "nvidia-operator-validator",
		command: []string{"sh", "-c", "echo all validations are successful; while true; do sleep 86400; done"}}
	for _, step := range []struct {
		name string
		said component
		env  []corev1.EnvVar
	}{
		{"driver", p.Validator.Driver, environment("WITH_WAIT", "true", "DRIVER_INSTALL_DIR", p.HostPaths.DriverInstallDir)},
		{"toolkit", p.Validator.Toolkit, environment("NVIDIA_VISIBLE_DEVICES", "all")}, // the others look at the host
		{"cuda", p.Validator.CUDA, nil}, {"plugin", p.Validator.Plugin, nil},
	} {
		validation := container(step.name+"-validation", p.Validator.reference(p.operatorImage), "nvidia-validator")
		validation.Env = withOverrides(append(environment("COMPONENT", step.name), nodeName), step.env, p.Validator.Env, step.said.Env)
		o.init = append(o.init, validation)
	}
	return o
}

// migManager (state-mig-manager/0600_daemonset.yaml; object_controls.go, TransformMIGManager). Since v26.3 the manager makes the configuration itself, and
// has the operator's only to fall back on, under another name. Arguments go to the shell in the stead of its entrypoint.
func (p policy) migManager(wait []corev1.Container) operand {
	variable := "CONFIG_FILE"
	if p.atLeast(26, 3) {
		variable = "DEFAULT_CONFIG_FILE"
	}
	o := operand{name: "nvidia-mig-manager", deploy: "mig-manager", component: p.MIGManager, container: "nvidia-mig-manager", init: wait,
		own: append(environment("NVIDIA_VISIBLE_DEVICES", "all", variable, "/mig-parted-config/config.yaml"), nodeName)}.started(entrypoint + migLine + "exec nvidia-mig-manager\n")
	if len(p.MIGManager.Args) > 0 {
		o.command = o.command[:2]
	}
	return o
}

// container of an operand that a shell runs.
func container(name, image, script string) corev1.Container {
	return corev1.Container{Name: name, Image: image, Command: []string{"sh", "-c"}, Args: []string{script}}
}

// featureFiles is where GPU feature discovery leaves what Node Feature Discovery shall say of the node (assets/gpu-feature-discovery/0500_daemonset.yaml).
const featureFiles = "/etc/kubernetes/node-feature-discovery/features.d"

// folders of the host that every operand has, and where.
func (p policy) folders() map[string]string {
	return map[string]string{
		"/run/nvidia/validations": "/run/nvidia/validations", "/": "/host", p.HostPaths.DriverInstallDir: "/driver-root", "/var/run/cdi": "/var/run/cdi",
		"/var/lib/kubelet/device-plugins": "/var/lib/kubelet/device-plugins", featureFiles: featureFiles,
	}
}

// daemonSet completes an operand: selector, runtime class, files, folders, and what the policy says for all.
func (p policy) daemonSet(o operand) *appsv1.DaemonSet {
	app, labels := map[string]string{"app": o.name}, map[string]string{"app.kubernetes.io/managed-by": "gpu-operator"}
	maps.Copy(labels, p.Daemonsets.Labels)
	maps.Copy(labels, app)
	main := corev1.Container{Name: o.container, Image: o.reference(p.operatorImage), Command: o.command, Args: o.Args, Env: withOverrides(o.own, o.Env)}
	pod := corev1.PodSpec{
		NodeSelector: map[string]string{deployPrefix + o.deploy: "true"}, RuntimeClassName: &p.Operator.RuntimeClass, PriorityClassName: "system-node-critical",
		Tolerations: p.Daemonsets.Tolerations, InitContainers: slices.Clone(o.init), Containers: []corev1.Container{main},
	}
	if len(pod.Tolerations) == 0 {
		pod.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	}
	var mounts []corev1.VolumeMount
	volume := func(name string, source corev1.VolumeSource, mount corev1.VolumeMount) {
		mount.Name = name
		mounts, pod.Volumes = append(mounts, mount), append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
	folders, kind, mode := p.folders(), corev1.HostPathDirectoryOrCreate, int32(0o700)
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
	if o.deploy == "operator-validator" {
		remove := corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "rm -f /run/nvidia/validations/*-ready"}}}
		pod.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &remove}
	}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: o.name, Namespace: p.namespace, Labels: labels, OwnerReferences: []metav1.OwnerReference{p.owner}},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}},
	}
}
