// Package operator emulates what runs in the GPU Operator's images: the operator itself, GPU feature discovery, the validator, the
// exporters; Node Feature Discovery and the MIG manager are in packages beside it. They act only while their pods run on an emulated
// node. They read and write the real API server, with the lab's administrator's rights instead of their service accounts; Node Feature
// Discovery changes nodes with its own.
//
// Facts are those of github.com/NVIDIA/gpu-operator v25.3.4 to v26.7.0 (controllers/state_manager.go, object_controls.go,
// assets/, cmd/nvidia-validator) and kubernetes-sigs/node-feature-discovery v0.17 to v0.19.
//
// Not emulated: vGPU, sandbox workloads, GDS, GDRCopy, MOFED, Kata, confidential computing, the NVIDIADriver resource, node
// upgrades, ServiceMonitors, the validator's workload pods (its CUDA check runs in place).
package operator

import (
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/mig"
	"talos-gpu/lab/machines/internal/nvidia/nfd"
)

// Operator holds what the programs share.
type Operator struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	nfd     *nfd.Discovery
}

// New prepares the programs with clients that may do everything, and those of service accounts.
func New(client kubernetes.Interface, dynamic dynamic.Interface, as nfd.Clients) *Operator {
	return &Operator{client: client, dynamic: dynamic, nfd: nfd.New(as, dynamic)}
}

var baked = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}, {Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "all"}}

// void keeps the operator's own containers away from the cards, on whatever runtime (gpu-operator docker/Dockerfile).
var void = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"}}

// Rules of the images.
func (o *Operator) Rules() []programs.Rule {
	return []programs.Rule{
		{
			Image: regexp.MustCompile(`(^|/)gpu-operator(-validator)?(:|@|$)`), About: "gpu-operator cmd/gpu-operator, cmd/nvidia-validator",
			Env: void, Pull: 12 * time.Second, Entrypoint: []string{"gpu-operator"},
			Programs: programs.Programs{
				"gpu-operator": o.operate, "nvidia-validator": o.validate,
				"manage-crds": o.manageDefinitions, "kubectl": o.kubectl, "cleanup-gpuclusters": o.cleanUpClusters,
			},
		},
		{
			Image: regexp.MustCompile(`(^|/)node-feature-discovery(:|@|$)`), About: "node-feature-discovery cmd/nfd-worker, cmd/nfd-master",
			Pull: 6 * time.Second, Entrypoint: []string{"nfd-worker"},
			Programs: programs.Programs{"nfd-worker": o.nfd.Worker, "nfd-master": o.nfd.Master, "nfd-gc": nfd.Collector},
		},
		{
			Image: regexp.MustCompile(`(^|/)dcgm-exporter(:|@|$)`), About: "dcgm-exporter: metrics of idle cards on :9400",
			Env: baked, Pull: 20 * time.Second, Entrypoint: []string{"dcgm-exporter"}, Programs: programs.Programs{"dcgm-exporter": needsNVML},
		},
		{
			Image: regexp.MustCompile(`/dcgm(:|@|$)`), About: "DCGM's host engine",
			Env: baked, Pull: 20 * time.Second, Entrypoint: []string{"nv-hostengine"}, Programs: programs.Programs{"nv-hostengine": needsNVML},
		},
		{
			Image: regexp.MustCompile(`k8s-mig-manager(:|@|$)`), About: "mig-parted cmd/nvidia-mig-manager v0.12 to v0.15; splits the machine's cards",
			Env: baked, Pull: 12 * time.Second, Entrypoint: []string{"nvidia-mig-manager"}, Programs: programs.Programs{"nvidia-mig-manager": mig.New(o.client).Run},
		},
		{
			Image: regexp.MustCompile(`k8s-driver-manager(:|@|$)`), About: "k8s-driver-manager cmd/driver-manager: isHostDriver",
			Pull: 8 * time.Second, Entrypoint: []string{"driver-manager"}, Programs: programs.Programs{"driver-manager": o.driverManager},
		},
		{
			Image: regexp.MustCompile(`nvidia/driver:.*-talos`), About: "there is no driver image for Talos (gpu-operator#647)",
			Absent: "not found",
		},
		{
			Image: regexp.MustCompile(`(^|/)container-toolkit(:|@|$)`), About: "installs to toolkit.installDir, which Talos keeps read-only",
			Pull: 12 * time.Second, Entrypoint: []string{"nvidia-ctk-installer"}, Programs: programs.Programs{"nvidia-ctk-installer": toolkit, "nvidia-toolkit": toolkit},
		},
	}
}
