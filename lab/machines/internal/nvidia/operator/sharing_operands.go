package operator

import (
	corev1 "k8s.io/api/core/v1"
	"talos-gpu/lab/machines/internal/nvidia/mig"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// mpsRoot is the folder of MPS on a machine (object_controls.go, DefaultMPSRoot).
const mpsRoot = "/run/nvidia/mps"

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

// mpsControlDaemon goes where GPU feature discovery found a configuration with MPS: the label nvidia.com/mps.capable
// (assets/state-mps-control-daemon/0400_daemonset.yaml, v25.3 to v26.7).
func (p policy) mpsControlDaemon() operand {
	spec := p.spec.DevicePlugin
	volume, mount := runNVIDIA()
	both := corev1.MountPropagationBidirectional
	container := spec.container("mps-control-daemon-ctr",
		withOverrides(environment("NVIDIA_VISIBLE_DEVICES", "all", "NVIDIA_DRIVER_CAPABILITIES", "compute,utility"), p.migEnv()),
		mounted("mps-shm", "/dev/shm"), mounted("mps-root", "/mps"))
	container.Command, container.Args = []string{"mps-control-daemon"}, nil
	pod := corev1.PodSpec{
		HostPID: true,
		InitContainers: []corev1.Container{p.waitForToolkit(mount), {
			Name: "mps-control-daemon-mounts", Image: container.Image, Command: []string{"mps-control-daemon", "mount-shm"}, SecurityContext: privileged(),
			VolumeMounts: []corev1.VolumeMount{{Name: "mps-root", MountPath: "/mps", MountPropagation: &both}},
		}},
		Containers: []corev1.Container{container},
		Volumes: []corev1.Volume{volume, hostVolume("mps-root", mpsRoot, corev1.HostPathDirectoryOrCreate),
			hostVolume("mps-shm", mpsRoot+"/shm", corev1.HostPathUnset)},
	}
	p.sharingConfig(&pod, container.Image)
	return operand{name: "nvidia-device-plugin-mps-control-daemon", deploy: "device-plugin", state: "mps-control-daemon", account: pluginAccount, runtime: true,
		nodes: map[string]string{nodelabels.MPSCapable: "true"}, pod: pod}
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
