package operator

import (
	corev1 "k8s.io/api/core/v1"
	"talos-gpu/lab/machines/internal/nvidia/mig"
)

// migEnv is what every operand that looks at cards is told of MIG (object_controls.go, applyMIGConfiguration).
func (p policy) migEnv() []corev1.EnvVar {
	strategy := p.spec.MIG.Strategy
	if strategy == "" {
		return environment("NVIDIA_MIG_MONITOR_DEVICES", "all")
	}
	env := environment("MIG_STRATEGY", strategy)
	if strategy != "none" {
		env = append(env, environment("NVIDIA_MIG_MONITOR_DEVICES", "all")...)
	}
	return env
}

const (
	migEntrypointConfigMap = "nvidia-mig-manager-entrypoint"
	migDefaultConfigMap    = "default-mig-parted-config"
	migClientsConfigMap    = "default-gpu-clients"
)

// migEntrypoint takes the driver's facts over from driver-ready: a driver of the host means that the host's own services are
// to be stopped too (assets/state-mig-manager/0420_configmap.yaml, v24.9 to v26.7).
const migEntrypoint = `#!/bin/sh
ready=/run/nvidia/validations/driver-ready
until [ -f "$ready" ]; do
  echo "waiting for the driver validations to be ready..."
  sleep 5
done
set -a
. "$ready"
set +a
export WITH_SHUTDOWN_HOST_GPU_CLIENTS=$IS_HOST_DRIVER
echo "WITH_SHUTDOWN_HOST_GPU_CLIENTS=$WITH_SHUTDOWN_HOST_GPU_CLIENTS"
echo "Starting nvidia-mig-manager"
exec nvidia-mig-manager
`

// migManager (assets/state-mig-manager/0600_daemonset.yaml; object_controls.go, TransformMIGManager). Since v26.3 the manager
// makes the configuration itself, and has the operator's only to fall back on, under another name.
func (p policy) migManager() operand {
	spec := p.spec.MIGManager
	config, file := migDefaultConfigMap, "config.yaml"
	env := environment("GPU_CLIENTS_FILE", "/gpu-clients/clients.yaml", "NVIDIA_VISIBLE_DEVICES", "all")
	switch {
	case spec.Config.Name != "":
		config = spec.Config.Name
		env = append(env, environment("CONFIG_FILE", "/mig-parted-config/config.yaml")...)
	case p.atLeast(26, 3):
		file = "config-default.yaml"
		env = append(env, environment("DEFAULT_CONFIG_FILE", "/mig-parted-config/config-default.yaml")...)
	default:
		env = append(env, environment("CONFIG_FILE", "/mig-parted-config/config.yaml")...)
	}
	if p.cdi() {
		env = append(env, environment("CDI_ENABLED", "true")...)
	}
	for name, path := range map[string]string{"NODE_NAME": "spec.nodeName", "DEFAULT_GPU_CLIENTS_NAMESPACE": "metadata.namespace"} {
		env = append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}})
	}
	volume, mount := validations()
	mode := int32(0o700)
	container := spec.container("nvidia-mig-manager", withOverrides(env, spec.Env), mount, mounted("host-root", "/host"),
		corev1.VolumeMount{Name: migEntrypointConfigMap, MountPath: "/bin/entrypoint.sh", SubPath: "entrypoint.sh", ReadOnly: true},
		corev1.VolumeMount{Name: "mig-parted-config", MountPath: "/mig-parted-config"}, corev1.VolumeMount{Name: "gpu-clients", MountPath: "/gpu-clients"})
	container.Command = []string{"/bin/sh", "-c"}
	if len(spec.Args) == 0 {
		container.Args = []string{"/bin/entrypoint.sh"}
	}
	source := func(name string) *corev1.ConfigMapVolumeSource {
		return &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	}
	entry, configs := source(migEntrypointConfigMap), source(config)
	entry.DefaultMode, configs.Items = &mode, []corev1.KeyToPath{{Key: "config.yaml", Path: file}}
	return operand{name: "nvidia-mig-manager", deploy: "mig-manager", runtime: true,
		pod: corev1.PodSpec{
			HostPID: true, HostIPC: true,
			InitContainers: []corev1.Container{p.waitForToolkit(mount)},
			Containers:     []corev1.Container{container},
			Volumes: []corev1.Volume{volume, hostVolume("host-root", p.spec.HostPaths.RootFS, corev1.HostPathUnset),
				{Name: migEntrypointConfigMap, VolumeSource: corev1.VolumeSource{ConfigMap: entry}},
				{Name: "mig-parted-config", VolumeSource: corev1.VolumeSource{ConfigMap: configs}},
				{Name: "gpu-clients", VolumeSource: corev1.VolumeSource{ConfigMap: source(migClientsConfigMap)}}},
		},
		configMaps: map[string]map[string]string{
			migEntrypointConfigMap: {"entrypoint.sh": migEntrypoint}, migDefaultConfigMap: {"config.yaml": mig.Defaults},
			migClientsConfigMap: {"clients.yaml": "version: v1\nsystemd-services: []\n"},
		}}
}
