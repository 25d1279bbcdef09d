// Package operator emulates what runs in the GPU Operator's images: the operator itself, GPU feature discovery, the validator, the
// exporters; Node Feature Discovery and the MIG manager are in packages beside it. They act only while their pods run on an emulated
// node. They read and write the real API server, with the lab's administrator's rights instead of their service accounts; Node Feature
// Discovery changes nodes with its own.
//
// Facts are those of github.com/NVIDIA/gpu-operator v25.3.4 to v26.7.0 (controllers/state_manager.go, object_controls.go,
// assets/, cmd/nvidia-validator) and kubernetes-sigs/node-feature-discovery v0.17 to v0.19.
//
// Not emulated: the operator's own driver and toolkit, which the checks refuse on Talos, DCGM's host engine, vGPU, sandbox workloads, GDS, GDRCopy, MOFED, Kata, confidential computing, the NVIDIADriver resource, node
// upgrades, ServiceMonitors, the validator's workload pods (its CUDA check runs in place).
package operator

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
				"manage-crds": o.hook, "kubectl": o.hook, "cleanup-gpuclusters": o.hook,
			},
		},
		{
			Image: regexp.MustCompile(`(^|/)node-feature-discovery(:|@|$)`), About: "node-feature-discovery cmd/nfd-worker, cmd/nfd-master",
			Pull: 6 * time.Second, Entrypoint: []string{"nfd-worker"},
			Programs: programs.Programs{"nfd-worker": o.nfd.Worker, "nfd-master": o.nfd.Master, "nfd-gc": nfd.Collector},
		},
		{
			Image: regexp.MustCompile(`(^|/)dcgm-exporter(:|@|$)`), About: "dcgm-exporter: it serves, and has no metrics",
			Env: baked, Pull: 20 * time.Second, Entrypoint: []string{"dcgm-exporter"}, Programs: programs.Programs{"dcgm-exporter": exporter},
		},
		{
			Image: regexp.MustCompile(`k8s-mig-manager(:|@|$)`), About: "mig-parted cmd/nvidia-mig-manager v0.12 to v0.15; splits the machine's cards",
			Env: baked, Pull: 12 * time.Second, Entrypoint: []string{"nvidia-mig-manager"}, Programs: programs.Programs{"nvidia-mig-manager": mig.New(o.client).Run},
		},
	}
}

// exporter runs where the runtime brought NVIDIA's libraries.
func exporter(ctx context.Context, c *programs.Container) int {
	if !c.Libraries || len(c.GPUs) == 0 {
		return c.Fails("Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
	}
	if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
		return programs.ExitTerminated
	}
	return c.Serves(ctx, 9400, programs.Well)
}

// hook is what the chart's hooks run in the operator's image, by manage-crds from v26 on and by kubectl before: ahead of an upgrade its
// definitions are applied, which the release brought and are as they should be; ahead of a deletion they are taken away where
// operator.cleanupCRD says so (deployments/gpu-operator/templates/upgrade_crd.yaml, cleanup_crd.yaml). What is not there is gone.
func (o *Operator) hook(ctx context.Context, c *programs.Container) int {
	if !slices.Contains(c.Argv, "delete") {
		return 0
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	var names []string
	for _, argument := range c.Argv[1:] {
		file := strings.TrimSuffix(argument[strings.LastIndex(argument, "/")+1:], ".yaml")
		group, plural, isFile := strings.Cut(file, "_")
		switch {
		case file == "nfd-api-crds":
			names = append(names, "nodefeatures.nfd.k8s-sigs.io", "nodefeaturegroups.nfd.k8s-sigs.io", "nodefeaturerules.nfd.k8s-sigs.io")
		case isFile:
			names = append(names, plural+"."+group)
		case strings.Contains(argument, ".") && !strings.HasPrefix(argument, "-"):
			names = append(names, argument)
		}
	}
	client := o.dynamic.Resource(definitions)
	if slices.Contains(c.Argv, "clusterpolicy") {
		client, names = o.dynamic.Resource(policies), c.Argv[len(c.Argv)-1:]
	}
	for _, name := range names {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return c.Fails("%v", err)
		}
		c.Logf("%s deleted", name)
	}
	return 0
}
