package operator

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"talos-gpu/lab/machines/internal/nvidia/mig"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// operand is a DaemonSet of the operator, as far as it differs from the others (assets/*, v24.9 to v26.7).
type operand struct {
	name string
	// deploy is the last part of the node label that selects its nodes, and of what the operator's log calls it.
	deploy string
	// account is its service account, where that has another name; partOf what it says that it is a part of.
	account, partOf string
	// component is what the policy says of it; container what its container is called, and its image without a policy's word.
	component
	container string
	command   []string
	// own variables of the container; the policy's come last and win.
	own    []corev1.EnvVar
	mounts []corev1.VolumeMount
	init   []corev1.Container
	beside []corev1.Container
	// volumes beside the host's folders, which every operand has.
	volumes []corev1.Volume
	// configMaps of the operand, by name: its entrypoint and its defaults.
	configMaps map[string]map[string]string
	// rules are what its programs may do in the operator's namespace.
	rules []rbacv1.PolicyRule
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
	spec, off := p.spec, false
	dcgm := spec.DCGM
	if dcgm.Enabled == nil {
		dcgm.Enabled = &off
	}
	wait := []corev1.Container{container("toolkit-validation", p.validatorImage(), []string{"sh", "-c", waitForToolkit})}
	plugin, pluginEntry := entry("nvidia-device-plugin-entrypoint", entrypoint+"exec nvidia-device-plugin\n")
	discovery := environment("GFD_SLEEP_INTERVAL", "60s", "GFD_FAIL_ON_INIT_ERROR", "true", "NVIDIA_VISIBLE_DEVICES", "all", "GFD_USE_NODE_FEATURE_API", "true")
	all := []operand{
		p.validator(),
		{name: "nvidia-device-plugin-daemonset", deploy: "device-plugin", account: "nvidia-device-plugin", component: spec.DevicePlugin.component, container: "nvidia-device-plugin",
			command: []string{"/bin/sh", "-c", "/bin/entrypoint.sh"}, own: withOverrides(p.pluginEnv(), p.migEnv()), init: wait, mounts: plugin.mounts, volumes: plugin.volumes, configMaps: pluginEntry},
		{name: "nvidia-dcgm", deploy: "dcgm", component: dcgm, container: "nvidia-dcgm-ctr", init: wait},
		{name: "nvidia-dcgm-exporter", deploy: "dcgm-exporter", component: spec.DCGMExporter, container: "nvidia-dcgm-exporter", init: wait,
			own: environment("DCGM_EXPORTER_LISTEN", ":9400", "DCGM_EXPORTER_KUBERNETES", "true")},
		// It tells NFD by an object, whose owner its pod is (k8s-device-plugin internal/lm/output.go).
		{name: "gpu-feature-discovery", deploy: "gpu-feature-discovery", account: "nvidia-gpu-feature-discovery", partOf: "nvidia-gpu", component: spec.GFD, container: "gpu-feature-discovery",
			command: []string{"gpu-feature-discovery"}, own: withOverrides(p.migEnv(), discovery, fields("NODE_NAME", "spec.nodeName", "NAMESPACE", "metadata.namespace", "POD_NAME", "metadata.name")), init: wait,
			rules: []rbacv1.PolicyRule{
				{APIGroups: []string{"nfd.k8s-sigs.io"}, Resources: []string{"nodefeatures"}, Verbs: []string{"get", "list", "watch", "create", "update"}},
				{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
			}},
		p.migManager(wait),
	}
	for i := range all {
		if o := &all[i]; spec.DevicePlugin.Config.Name != "" && (o.deploy == "device-plugin" || o.deploy == "gpu-feature-discovery") {
			p.sharingConfig(o)
		}
	}
	return all
}

// entry mounts a script as /bin/entrypoint.sh.
func entry(name, script string) (operand, map[string]map[string]string) {
	mode := int32(0o700)
	volume := configMap(name)
	volume.ConfigMap.DefaultMode = &mode
	mount := corev1.VolumeMount{Name: name, MountPath: "/bin/entrypoint.sh", SubPath: "entrypoint.sh", ReadOnly: true}
	return operand{mounts: []corev1.VolumeMount{mount}, volumes: []corev1.Volume{volume}}, map[string]map[string]string{name: {"entrypoint.sh": script}}
}

// pluginEnv are the device plugin's variables, and those of CDI (object_controls.go, TransformDevicePlugin).
func (p policy) pluginEnv() []corev1.EnvVar {
	env := environment("PASS_DEVICE_SPECS", "true", "FAIL_ON_INIT_ERROR", "true", "DEVICE_LIST_STRATEGY", "envvar", "DEVICE_ID_STRATEGY", "uuid",
		"NVIDIA_VISIBLE_DEVICES", "all", "NVIDIA_DRIVER_CAPABILITIES", "all")
	if !p.cdi() {
		return env
	}
	strategy, prefix := "cdi-annotations,cdi-cri", "cdi.k8s.io/"
	if !p.atLeast(25, 10) {
		strategy, prefix = "envvar,cdi-annotations", "nvidia.cdi.k8s.io/"
	}
	env = withOverrides(env, environment("CDI_ENABLED", "true", "DEVICE_LIST_STRATEGY", strategy, "CDI_ANNOTATION_PREFIX", prefix))
	if p.spec.Toolkit.enabled() {
		env = append(env, environment("NVIDIA_CDI_HOOK_PATH", "/usr/local/nvidia/toolkit/nvidia-cdi-hook")...)
	}
	return env
}

// migEnv is what every operand that looks at cards is told of MIG (object_controls.go, applyMIGConfiguration).
func (p policy) migEnv() (env []corev1.EnvVar) {
	strategy := p.spec.MIG.Strategy
	if strategy != "" {
		env = environment("MIG_STRATEGY", strategy)
	}
	if strategy != "none" {
		env = append(env, environment("NVIDIA_MIG_MONITOR_DEVICES", "all")...)
	}
	return env
}

// validations of the validator, one after the other. The policy's variables win.
func (p policy) validations() (steps []corev1.Container) {
	spec, installDir := p.spec.Validator, p.spec.HostPaths.DriverInstallDir
	for _, step := range []struct {
		component string
		said      withEnv
	}{{"driver", spec.Driver}, {"toolkit", spec.Toolkit}, {"cuda", spec.CUDA}, {"plugin", spec.Plugin}} {
		env := append(environment("COMPONENT", step.component, "WITH_WAIT", "false"), fields("NODE_NAME", "spec.nodeName")...)
		switch {
		case step.component == "toolkit": // the others look at the host, or have a pod of their own do it
			env = append(env, environment("NVIDIA_VISIBLE_DEVICES", "all")...)
		case step.component == "driver":
			env[1].Value = "true"
			if installDir != defaultInstallDir { // seen of v26.3.3's own program; of the default it says nothing
				env = append(env, environment("DRIVER_INSTALL_DIR", installDir, "DRIVER_INSTALL_DIR_CTR_PATH", installDir)...)
			}
		}
		validation := container(step.component+"-validation", p.validatorImage(), []string{"sh", "-c", "nvidia-validator"})
		validation.Env, validation.ImagePullPolicy = withOverrides(env, spec.Env, step.said.Env), spec.ImagePullPolicy
		steps = append(steps, validation)
	}
	return steps
}

// validator sleeps after the validations; on its way out it takes the markers along.
func (p policy) validator() operand {
	remove := corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "rm -f /run/nvidia/validations/*-ready"}}}
	rests := container("nvidia-operator-validator", p.validatorImage(), []string{"sh", "-c", "echo all validations are successful; while true; do sleep 86400; done"})
	rests.Lifecycle = &corev1.Lifecycle{PreStop: &remove}
	return operand{name: "nvidia-operator-validator", deploy: "operator-validator", partOf: "gpu-operator", component: component{Enabled: p.spec.Validator.Enabled},
		init: p.validations(), beside: []corev1.Container{rests}}
}

// migManager (state-mig-manager/0600_daemonset.yaml; object_controls.go, TransformMIGManager). Since v26.3 the manager makes the
// configuration itself, and has the operator's only to fall back on, under another name.
func (p policy) migManager(wait []corev1.Container) operand {
	spec, variable, file := p.spec.MIGManager, "CONFIG_FILE", "config.yaml"
	if spec.Config.Name == "" && p.atLeast(26, 3) {
		variable, file = "DEFAULT_CONFIG_FILE", "config-default.yaml"
	}
	env := append(environment("NVIDIA_VISIBLE_DEVICES", "all", variable, "/mig-parted-config/"+file), fields("NODE_NAME", "spec.nodeName")...)
	if p.cdi() {
		env = append(env, environment("CDI_ENABLED", "true")...)
	}
	script, configMaps := entry("nvidia-mig-manager-entrypoint", entrypoint+migLine+"exec nvidia-mig-manager\n")
	configMaps["default-mig-parted-config"] = map[string]string{"config.yaml": mig.Defaults}
	volume := configMap(cmp.Or(spec.Config.Name, "default-mig-parted-config"))
	volume.ConfigMap.Items = []corev1.KeyToPath{{Key: "config.yaml", Path: file}}
	command := []string{"/bin/sh", "-c", "/bin/entrypoint.sh"}
	if len(spec.Args) > 0 {
		command = command[:2]
	}
	return operand{name: "nvidia-mig-manager", deploy: "mig-manager", component: spec.component, container: "nvidia-mig-manager", command: command, own: env, init: wait, configMaps: configMaps,
		mounts: append(script.mounts, corev1.VolumeMount{Name: volume.Name, MountPath: "/mig-parted-config"}), volumes: append(script.volumes, volume)}
}

// sharingConfig mounts the ConfigMap with the node's device plugin configuration, by way of config-manager.
func (p policy) sharingConfig(o *operand) {
	config := p.spec.DevicePlugin.Config
	o.volumes = append(o.volumes, configMap(config.Name), corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	mounts := []corev1.VolumeMount{{Name: config.Name, MountPath: "/available-configs"}, {Name: "config", MountPath: "/config"}}
	manager := func(name, oneShot string) corev1.Container {
		manager := container(name, o.reference("nvcr.io/nvidia/"+o.container), []string{"config-manager"})
		manager.VolumeMounts = mounts
		manager.Env = append(environment("ONESHOT", oneShot, "NODE_LABEL", "nvidia.com/device-plugin.config", "CONFIG_FILE_SRCDIR", "/available-configs",
			"CONFIG_FILE_DST", "/config/config.yaml", "DEFAULT_CONFIG", config.Default, "NVIDIA_VISIBLE_DEVICES", "void"), fields("NODE_NAME", "spec.nodeName")...)
		return manager
	}
	o.init, o.beside = append(o.init[:1:1], manager("config-manager-init", "true")), []corev1.Container{manager("config-manager", "false")}
	o.mounts, o.own = append(o.mounts, mounts[1]), append(o.own, environment("CONFIG_FILE", "/config/config.yaml")...)
}

// container of an operand; command and its arguments.
func container(name, image string, command []string) corev1.Container {
	yes := true
	made := corev1.Container{Name: name, Image: image, SecurityContext: &corev1.SecurityContext{Privileged: &yes}}
	if len(command) > 1 && (command[0] == "sh" || command[0] == "/bin/sh") {
		made.Command, made.Args = command[:2], command[2:]
	} else {
		made.Command = command
	}
	return made
}

func configMap(name string) corev1.Volume {
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}}
}

// hostFolders of every operand, with where its containers have them.
func (p policy) hostFolders() (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	for _, folder := range [][3]string{
		{"run-nvidia-validations", "/run/nvidia/validations", "/run/nvidia/validations"}, {"host-root", p.spec.HostPaths.RootFS, "/host"},
		{"driver-install-dir", p.spec.HostPaths.DriverInstallDir, "/driver-root"}, {"device-plugin", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/device-plugins"},
		{"cdi-root", "/var/run/cdi", "/var/run/cdi"},
	} {
		kind := corev1.HostPathDirectoryOrCreate
		volumes = append(volumes, corev1.Volume{Name: folder[0], VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder[1], Type: &kind}}})
		mounts = append(mounts, corev1.VolumeMount{Name: folder[0], MountPath: folder[2]})
	}
	return volumes, mounts
}

// daemonSet completes an operand: selector, runtime class, folders, and what the policy says for all.
func (p policy) daemonSet(o operand) *appsv1.DaemonSet {
	common := p.spec.Daemonsets
	app := map[string]string{"app": o.name}
	if o.partOf != "" {
		app["app.kubernetes.io/part-of"] = o.partOf
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "gpu-operator"}
	maps.Copy(labels, common.Labels)
	maps.Copy(labels, app)
	volumes, mounts := p.hostFolders()
	pod := corev1.PodSpec{
		ServiceAccountName: cmp.Or(o.account, o.name), NodeSelector: map[string]string{nodelabels.DeployPrefix + o.deploy: "true"},
		RuntimeClassName: &p.spec.Operator.RuntimeClass, PriorityClassName: cmp.Or(common.PriorityClassName, "system-node-critical"), Tolerations: common.Tolerations,
		InitContainers: slices.Clone(o.init), Containers: slices.Clone(o.beside), Volumes: append(o.volumes, volumes...),
	}
	if o.container != "" {
		main := container(o.container, o.reference("nvcr.io/nvidia/"+o.container), o.command)
		main.ImagePullPolicy, main.Env, main.Args, main.VolumeMounts = o.ImagePullPolicy, withOverrides(o.own, o.Env), append(main.Args, o.Args...), o.mounts
		if o.Resources != nil {
			main.Resources = *o.Resources
		}
		pod.Containers = append([]corev1.Container{main}, o.beside...)
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].VolumeMounts = slices.Concat(containers[i].VolumeMounts, mounts)
		}
	}
	if len(pod.Tolerations) == 0 {
		pod.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	}
	limit := intstr.FromInt32(1)
	if said := common.RollingUpdate.MaxUnavailable; said != nil {
		limit = intstr.Parse(said.String())
	}
	update := appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &limit}}
	if strings.EqualFold(common.UpdateStrategy, "OnDelete") {
		update = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: o.name, Namespace: p.namespace, Labels: labels, OwnerReferences: []metav1.OwnerReference{p.owner}},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: app}, UpdateStrategy: update,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: common.Annotations}, Spec: pod}},
	}
}
