package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// entrypoint waits for driver-ready, takes its content into the environment, and becomes the plugin
// (assets/state-device-plugin/0400_configmap.yaml, v24.9 to v26.7).
const entrypoint = `#!/bin/sh
ready=/run/nvidia/validations/driver-ready
until [ -f "$ready" ]; do
  echo "waiting for the driver to be validated"
  sleep 5
done
set -a
. "$ready"
set +a
exec nvidia-device-plugin
`

// atLeast compares the operator's version, e.g. v25.10.1.
func (p policy) atLeast(year, month int) bool {
	_, tag, _ := strings.Cut(p.operatorImage[strings.LastIndexByte(p.operatorImage, '/')+1:], ":")
	var numbers [2]int
	for i, part := range strings.SplitN(strings.TrimPrefix(tag, "v"), ".", 3) {
		if i < 2 {
			for _, digit := range part {
				if digit < '0' || digit > '9' {
					break
				}
				numbers[i] = numbers[i]*10 + int(digit-'0')
			}
		}
	}
	return numbers[0] > year || numbers[0] == year && numbers[1] >= month
}

// cdi is on by default since v25.10.
func (p policy) cdi() bool {
	if p.spec.CDI.Enabled != nil {
		return *p.spec.CDI.Enabled
	}
	return p.atLeast(25, 10)
}

// pluginAccount is that of the device plugin.
const pluginAccount = "nvidia-device-plugin"

// devicePlugin: its variables, and those of CDI (object_controls.go, TransformDevicePlugin). The policy's come last and win.
func (p policy) devicePlugin() operand {
	spec := p.spec.DevicePlugin
	env := environment("PASS_DEVICE_SPECS", "true", "FAIL_ON_INIT_ERROR", "true", "DEVICE_LIST_STRATEGY", "envvar", "DEVICE_ID_STRATEGY", "uuid",
		"NVIDIA_VISIBLE_DEVICES", "all", "NVIDIA_DRIVER_CAPABILITIES", "all")
	if p.cdi() {
		strategy, prefix := "cdi-annotations,cdi-cri", "cdi.k8s.io/"
		if !p.atLeast(25, 10) {
			strategy, prefix = "envvar,cdi-annotations", "nvidia.cdi.k8s.io/"
		}
		env = withOverrides(env, environment("CDI_ENABLED", "true", "DEVICE_LIST_STRATEGY", strategy, "CDI_ANNOTATION_PREFIX", prefix))
		if p.spec.Toolkit.enabled() {
			env = append(env, environment("NVIDIA_CDI_HOOK_PATH", "/usr/local/nvidia/toolkit/nvidia-cdi-hook")...)
		}
	}
	mode := int32(0o700)
	volume, mount := validations()
	container := spec.container("nvidia-device-plugin", withOverrides(env, p.migEnv(), spec.Env), mount,
		corev1.VolumeMount{Name: entrypointConfigMap, MountPath: "/bin/entrypoint.sh", SubPath: "entrypoint.sh", ReadOnly: true},
		mounted("driver-install-dir", "/driver-root"), mounted("host-root", "/host"),
		corev1.VolumeMount{Name: "device-plugin", MountPath: "/var/lib/kubelet/device-plugins"},
		corev1.VolumeMount{Name: "cdi-root", MountPath: "/var/run/cdi"})
	container.Command, container.Args = []string{"/bin/sh", "-c"}, []string{"/bin/entrypoint.sh"}
	pod := corev1.PodSpec{
		InitContainers: []corev1.Container{p.waitForToolkit(mount)},
		Containers:     []corev1.Container{container},
		Volumes: []corev1.Volume{volume,
			{Name: entrypointConfigMap, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: entrypointConfigMap}, DefaultMode: &mode}}},
			hostVolume("driver-install-dir", p.spec.HostPaths.DriverInstallDir, corev1.HostPathDirectoryOrCreate),
			hostVolume("host-root", p.spec.HostPaths.RootFS, corev1.HostPathUnset),
			hostVolume("device-plugin", "/var/lib/kubelet/device-plugins", corev1.HostPathUnset),
			hostVolume("cdi-root", "/var/run/cdi", corev1.HostPathDirectoryOrCreate)},
	}
	p.sharingConfig(&pod, container.Image)
	return operand{name: "nvidia-device-plugin-daemonset", deploy: "device-plugin", account: pluginAccount, runtime: true, pod: pod,
		configMaps: map[string]map[string]string{entrypointConfigMap: {"entrypoint.sh": entrypoint}}}
}

func (p policy) discovery() operand {
	operand := p.simple("gpu-feature-discovery", "gpu-feature-discovery", p.spec.GFD, "gpu-feature-discovery",
		withOverrides(p.migEnv(), environment("GFD_SLEEP_INTERVAL", "60s", "GFD_FAIL_ON_INIT_ERROR", "true", "NVIDIA_VISIBLE_DEVICES", "all")))
	operand.account, operand.partOf = "nvidia-gpu-feature-discovery", "nvidia-gpu"
	container := &operand.pod.Containers[0]
	container.Command = []string{"gpu-feature-discovery"}
	// It tells NFD by an object, whose owner its pod is (k8s-device-plugin internal/lm/output.go).
	container.Env = append(container.Env, corev1.EnvVar{Name: "GFD_USE_NODE_FEATURE_API", Value: "true"},
		field("NODE_NAME", "spec.nodeName"), field("NAMESPACE", "metadata.namespace"), field("POD_NAME", "metadata.name"))
	operand.rules = []rbacv1.PolicyRule{
		{APIGroups: []string{"nfd.k8s-sigs.io"}, Resources: []string{"nodefeatures"}, Verbs: []string{"get", "list", "watch", "create", "update"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
	}
	operand.pod.Volumes = append(operand.pod.Volumes, hostVolume("driver-install-dir", p.spec.HostPaths.DriverInstallDir, corev1.HostPathDirectoryOrCreate))
	container.VolumeMounts = append(container.VolumeMounts, mounted("driver-install-dir", "/driver-root"))
	p.sharingConfig(&operand.pod, container.Image)
	return operand
}

// validator: four validations, one after the other, then it sleeps; on its way out it takes the markers along
// (assets/state-operator-validation/0500_daemonset.yaml, v24.9 to v26.7).
func (p policy) validator() operand {
	spec := p.spec.Validator
	volume := hostVolume("run-nvidia-validations", "/run/nvidia/validations", corev1.HostPathDirectoryOrCreate)
	both := corev1.MountPropagationBidirectional
	mount := corev1.VolumeMount{Name: volume.Name, MountPath: "/run/nvidia/validations", MountPropagation: &both}
	installDir := p.spec.HostPaths.DriverInstallDir
	step := func(component, wait string, override []corev1.EnvVar, extra ...corev1.VolumeMount) corev1.Container {
		env := append(environment("COMPONENT", component, "WITH_WAIT", wait), field("NODE_NAME", "spec.nodeName"))
		switch {
		case component == "toolkit": // the others look at the host, or have a pod of their own do it
			env = append(env, environment("NVIDIA_VISIBLE_DEVICES", "all")...)
		case component == "driver" && installDir != defaultInstallDir: // seen of v26.3.3's own program; of the default it says nothing
			env = append(env, environment("DRIVER_INSTALL_DIR", installDir, "DRIVER_INSTALL_DIR_CTR_PATH", installDir)...)
		}
		return corev1.Container{Name: component + "-validation", Image: p.validatorImage(), ImagePullPolicy: spec.ImagePullPolicy,
			Command: []string{"sh", "-c"}, Args: []string{"nvidia-validator"}, Env: withOverrides(env, spec.Env, override),
			SecurityContext: privileged(), VolumeMounts: append([]corev1.VolumeMount{mount}, extra...)}
	}
	return operand{name: "nvidia-operator-validator", deploy: "operator-validator", partOf: "gpu-operator", runtime: true, pod: corev1.PodSpec{
		InitContainers: []corev1.Container{
			step("driver", "true", spec.Driver.Env, mounted("host-root", "/host"), mounted("driver-install-dir", installDir)),
			step("toolkit", "false", spec.Toolkit.Env), step("cuda", "false", spec.CUDA.Env), step("plugin", "false", spec.Plugin.Env),
		},
		Containers: []corev1.Container{{
			Name: "nvidia-operator-validator", Image: p.validatorImage(), Command: []string{"sh", "-c"},
			Args:            []string{"echo all validations are successful; while true; do sleep 86400; done"},
			SecurityContext: privileged(), VolumeMounts: []corev1.VolumeMount{mount},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
				Command: []string{"/bin/sh", "-c", "rm -f /run/nvidia/validations/*-ready"}}}},
		}},
		Volumes: []corev1.Volume{volume, hostVolume("host-root", p.spec.HostPaths.RootFS, corev1.HostPathUnset),
			hostVolume("driver-install-dir", p.spec.HostPaths.DriverInstallDir, corev1.HostPathDirectoryOrCreate)},
	}}
}

// driver: k8s-driver-manager first, then an image whose tag ends in the node's system, which does not exist for Talos.
func (p policy) driver() operand {
	driver := p.spec.Driver
	driver.Version += "-talos" + p.talos
	volume, mount := validations()
	container := driver.container("nvidia-driver-ctr", p.spec.Driver.Env, mount)
	container.Command, container.Args = []string{"nvidia-driver"}, []string{"init"}
	manager := corev1.Container{Name: "k8s-driver-manager", Image: "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.9.1", Command: []string{"driver-manager"},
		Args: []string{"uninstall_driver"}, SecurityContext: privileged(), VolumeMounts: []corev1.VolumeMount{mount, mounted("host-root", "/host")}}
	return operand{name: "nvidia-driver-daemonset", deploy: "driver", pod: corev1.PodSpec{
		InitContainers: []corev1.Container{manager}, Containers: []corev1.Container{container},
		Volumes: []corev1.Volume{volume, hostVolume("host-root", p.spec.HostPaths.RootFS, corev1.HostPathUnset)},
	}}
}

func (p policy) toolkit() operand {
	volume, mount := validations()
	validation := p.validator().pod.InitContainers[0]
	return operand{name: "nvidia-container-toolkit-daemonset", deploy: "container-toolkit", pod: corev1.PodSpec{
		InitContainers: []corev1.Container{validation},
		Containers:     []corev1.Container{p.spec.Toolkit.container("nvidia-container-toolkit-ctr", p.spec.Toolkit.Env, mount)},
		Volumes: []corev1.Volume{volume, hostVolume("host-root", p.spec.HostPaths.RootFS, corev1.HostPathUnset),
			hostVolume("driver-install-dir", p.spec.HostPaths.DriverInstallDir, corev1.HostPathDirectoryOrCreate)},
	}}
}
