package operator

import (
	"cmp"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// operand is a DaemonSet of the operator before the policy's common parts are added.
type operand struct {
	name string
	// deploy is the last part of the node label that selects its nodes.
	deploy string
	// state of the operator that it is, where that is another word than deploy.
	state string
	// account is its service account, where that has another name.
	account string
	// partOf is what it says that it is a part of (app.kubernetes.io/part-of), where it does.
	partOf string
	// nodes are further labels that its nodes have.
	nodes map[string]string
	pod   corev1.PodSpec
	// configMaps of the operand, by name: its entrypoint and its defaults.
	configMaps map[string]map[string]string
	// rules are what its programs may do in the operator's namespace.
	rules []rbacv1.PolicyRule
	// runtime says that the pod runs on the NVIDIA runtime class.
	runtime bool
}

const entrypointConfigMap = "nvidia-device-plugin-entrypoint"

// waitForToolkit is the init container of most operands (assets/*/0500_daemonset.yaml).
func (p policy) waitForToolkit(mount corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "toolkit-validation", Image: p.validatorImage(), Command: []string{"sh", "-c"},
		Args:            []string{"until [ -f /run/nvidia/validations/toolkit-ready ]; do echo waiting for nvidia container stack to be setup; sleep 5; done"},
		SecurityContext: privileged(), VolumeMounts: []corev1.VolumeMount{mount},
	}
}

// stateName is what the operator's log and status call it (controllers/state_manager.go).
func (o operand) stateName() string { return "state-" + cmp.Or(o.state, o.deploy) }

func (o operand) accountName() string { return cmp.Or(o.account, o.name) }

func (p policy) validatorImage() string { return p.spec.Validator.reference(p.operatorImage) }

// field is a variable that says something of the pod.
func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func privileged() *corev1.SecurityContext {
	yes := true
	return &corev1.SecurityContext{Privileged: &yes}
}

func mounted(name, path string) corev1.VolumeMount {
	from := corev1.MountPropagationHostToContainer
	return corev1.VolumeMount{Name: name, MountPath: path, MountPropagation: &from}
}

func hostVolume(name, path string, kind corev1.HostPathType) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &kind}}}
}

// validations is the folder of the marker files; the device plugin and mig-manager make it, others need /run/nvidia to be there.
func validations() (corev1.Volume, corev1.VolumeMount) {
	return hostVolume("run-nvidia-validations", "/run/nvidia/validations", corev1.HostPathDirectoryOrCreate),
		mounted("run-nvidia-validations", "/run/nvidia/validations")
}

func runNVIDIA() (corev1.Volume, corev1.VolumeMount) {
	return hostVolume("run-nvidia", "/run/nvidia", corev1.HostPathDirectory), mounted("run-nvidia", "/run/nvidia")
}

// all operands that the policy wants, and the names of those that it does not.
func (p policy) all() (wanted []operand, unwanted []string) {
	add := func(c component, build func() operand) {
		if operand := build(); c.enabled() {
			wanted = append(wanted, operand)
		} else {
			unwanted = append(unwanted, operand.name)
		}
	}
	off := false
	validator := p.spec.Validator.component
	dcgm := p.spec.DCGM
	if dcgm.Enabled == nil {
		dcgm.Enabled = &off
	}
	add(p.spec.Driver, p.driver)
	add(p.spec.Toolkit, p.toolkit)
	add(validator, p.validator)
	add(p.spec.DevicePlugin.component, p.devicePlugin)
	add(dcgm, func() operand { return p.simple("nvidia-dcgm", "dcgm", p.spec.DCGM, "nvidia-dcgm-ctr", nil) })
	add(p.spec.DCGMExporter, p.exporter)
	add(p.spec.GFD, p.discovery)
	add(p.spec.MIGManager.component, p.migManager)
	return wanted, unwanted
}

// simple is an operand that waits for the toolkit and then runs its image.
func (p policy) simple(name, deploy string, c component, container string, env []corev1.EnvVar) operand {
	volume, mount := runNVIDIA()
	return operand{name: name, deploy: deploy, runtime: true, pod: corev1.PodSpec{
		InitContainers: []corev1.Container{p.waitForToolkit(mount)},
		Containers:     []corev1.Container{c.container(container, withOverrides(env, c.Env), mount)},
		Volumes:        []corev1.Volume{volume},
	}}
}

func (c component) container(name string, env []corev1.EnvVar, mounts ...corev1.VolumeMount) corev1.Container {
	container := corev1.Container{
		Name: name, Image: c.reference("nvcr.io/nvidia/" + name), ImagePullPolicy: c.ImagePullPolicy, Args: c.Args, Env: env,
		SecurityContext: privileged(), VolumeMounts: mounts,
	}
	if c.Resources != nil {
		container.Resources = *c.Resources
	}
	return container
}

func (p policy) exporter() operand {
	operand := p.simple("nvidia-dcgm-exporter", "dcgm-exporter", p.spec.DCGMExporter, "nvidia-dcgm-exporter",
		environment("DCGM_EXPORTER_LISTEN", ":9400", "DCGM_EXPORTER_KUBERNETES", "true"))
	operand.pod.Containers[0].Ports = []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9400}}
	return operand
}

// sharingConfig mounts the ConfigMap with the node's device plugin configuration, by way of config-manager.
func (p policy) sharingConfig(pod *corev1.PodSpec, image string) {
	config := p.spec.DevicePlugin.Config
	if config.Name == "" {
		return
	}
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{Name: config.Name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: config.Name}}}},
		corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	mounts := []corev1.VolumeMount{{Name: config.Name, MountPath: "/available-configs"}, {Name: "config", MountPath: "/config"}}
	manager := func(name, oneShot string) corev1.Container {
		return corev1.Container{Name: name, Image: image, Command: []string{"config-manager"}, VolumeMounts: mounts, SecurityContext: privileged(),
			Env: append(environment("ONESHOT", oneShot, "NODE_LABEL", "nvidia.com/device-plugin.config", "CONFIG_FILE_SRCDIR", "/available-configs",
				"CONFIG_FILE_DST", "/config/config.yaml", "DEFAULT_CONFIG", config.Default, "NVIDIA_VISIBLE_DEVICES", "void"),
				field("NODE_NAME", "spec.nodeName"))}
	}
	pod.InitContainers = append(pod.InitContainers, manager("config-manager-init", "true"))
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, mounts[1])
	pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "CONFIG_FILE", Value: "/config/config.yaml"})
	pod.Containers = append(pod.Containers, manager("config-manager", "false"))
}

// daemonSet completes an operand: selector, runtime class, and what the policy says for all.
func (p policy) daemonSet(o operand) *appsv1.DaemonSet {
	app := map[string]string{"app": o.name}
	if o.partOf != "" {
		app["app.kubernetes.io/part-of"] = o.partOf
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "gpu-operator"}
	maps.Copy(labels, p.spec.Daemonsets.Labels)
	maps.Copy(labels, app)
	pod := o.pod
	pod.ServiceAccountName = o.accountName()
	pod.NodeSelector = map[string]string{nodelabels.DeployPrefix + o.deploy: "true"}
	maps.Copy(pod.NodeSelector, o.nodes)
	pod.PriorityClassName = p.spec.Daemonsets.PriorityClassName
	if pod.PriorityClassName == "" {
		pod.PriorityClassName = "system-node-critical"
	}
	pod.Tolerations = p.spec.Daemonsets.Tolerations
	if len(pod.Tolerations) == 0 {
		pod.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	}
	if o.runtime {
		class := p.spec.Operator.RuntimeClass
		pod.RuntimeClassName = &class
	}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: o.name, Namespace: p.namespace, Labels: labels, OwnerReferences: []metav1.OwnerReference{p.owner}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: p.spec.Daemonsets.Annotations}, Spec: pod},
		},
	}
	if strings.EqualFold(p.spec.Daemonsets.UpdateStrategy, "OnDelete") || o.name == "nvidia-driver-daemonset" {
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	} else {
		one := intstr.FromInt32(1)
		set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &one}}
		if limit := p.spec.Daemonsets.RollingUpdate.MaxUnavailable; limit != nil {
			parsed := intstr.Parse(limit.String())
			set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &parsed
		}
	}
	return set
}
