package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
)

// Labels with which NVIDIA's programs and Node Feature Discovery describe a node.
const (
	featurePrefix = "feature.node.kubernetes.io/"
	present       = "nvidia.com/gpu.present"
	deployPrefix  = "nvidia.com/gpu.deploy."
	migCapable    = "nvidia.com/mig.capable"
	migConfig     = "nvidia.com/mig.config"
	migState      = "nvidia.com/mig.config.state"
)

// nodeFeatures is the resource that NFD's workers and GPU feature discovery write and NFD's master reads
// (kubernetes-sigs/node-feature-discovery v0.17 to v0.19, api/nfd/v1alpha1). With a real node, the writer or the reader
// may be the real program. NFD's chart installs the definition.
var nodeFeatures = schema.GroupVersionResource{Group: "nfd.k8s-sigs.io", Version: "v1alpha1", Resource: "nodefeatures"}

// featuresOf is the label of a NodeFeature that has the node's name.
const featuresOf = "nfd.node.kubernetes.io/node-name"

// collector is NFD's garbage collector. It removes nothing, because the lab makes nothing that it would remove.
func collector(ctx context.Context, c *programs.Container) int {
	port, err := strconv.Atoi(c.Argument("-port"))
	if err != nil {
		port = 8080
	}
	return c.Serves(ctx, port, programs.Well)
}

// worker reports a machine's cards under the names for which charts ask. With NVIDIA's charts, NFD labels by vendor,
// and by default by class and vendor.
func (o *Operator) worker(ctx context.Context, c *programs.Container) int {
	go collector(ctx, c) // it has the same probe
	for range c.Machine.Watch(ctx) {
		found := map[string]string{}
		for _, card := range c.Machine.Snapshot().GPUs {
			if _, vendor, told := strings.Cut(card.PCIDevice, "_"); told {
				found[featurePrefix+"pci-"+vendor+".present"], found[featurePrefix+"pci-"+card.PCIDevice+".present"] = "true", "true"
			}
		}
		if err := o.tell(ctx, c, c.Machine.Name(), found); err != nil && ctx.Err() == nil {
			return c.Fails("failed to advertise features: %v", err)
		}
	}
	return programs.ExitTerminated
}

// tell writes a NodeFeature with the features of the container's node. Its owners are the pod that writes it and the
// pod's owner. So it is deleted with the DaemonSet, but not when another pod replaces this one (nfd-worker.go,
// setOwnerReference).
func (o *Operator) tell(ctx context.Context, c *programs.Container, name string, found map[string]string) error {
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: c.Pod.Name, UID: c.Pod.UID}}
	for _, owner := range c.Pod.OwnerReferences {
		owners = append(owners, metav1.OwnerReference{
			APIVersion: owner.APIVersion,
			Kind:       owner.Kind,
			Name:       owner.Name,
			UID:        owner.UID,
		})
	}
	none := map[string]any{}
	body, err := json.Marshal(map[string]any{
		"apiVersion": nodeFeatures.GroupVersion().String(), "kind": "NodeFeature",
		"metadata": map[string]any{"name": name, "labels": map[string]string{featuresOf: c.Machine.Name()}, "ownerReferences": owners},
		"spec":     map[string]any{"labels": found, "features": map[string]any{"attributes": none, "flags": none, "instances": none}},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = o.dynamic.Resource(nodeFeatures).Namespace(c.Pod.Namespace).Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "lab", Force: &force})
	return err
}

// master sets the reported labels on the nodes. With -prune it removes all its labels, as the chart's hook does after
// an uninstall (deployment/helm/node-feature-discovery/templates/post-delete-job.yaml).
func (o *Operator) master(ctx context.Context, c *programs.Container) int {
	client, err := o.as(c.Pod.Namespace, c.Pod.Spec.ServiceAccountName)
	if err != nil {
		return c.Fails("%v", err)
	}
	if slices.Contains(c.Argv, "-prune") {
		if err := label(ctx, client, nil); err != nil {
			return c.Fails("failed to prune: %v", err)
		}
		return 0
	}
	go collector(ctx, c) // it has the same probe
	var last map[string]map[string]string
	pause := func() error { return c.Machine.Clock().Sleep(ctx, look) }
	stirredBy(ctx, o.dynamic, nodeFeatures).each(ctx, pause, func() error {
		said, err := o.said(ctx)
		if err == nil && !reflect.DeepEqual(said, last) {
			if err = label(ctx, client, said); err == nil {
				last = said
			}
		}
		if err != nil && ctx.Err() == nil {
			c.Logf("failed to update nodes: %v", err)
		}
		return err
	})
	return programs.ExitTerminated
}

// said returns the labels of every node from all NodeFeatures. A name without a domain gets NFD's prefix.
func (o *Operator) said(ctx context.Context) (map[string]map[string]string, error) {
	objects, err := o.dynamic.Resource(nodeFeatures).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes := map[string]map[string]string{}
	for _, feature := range objects.Items {
		node := feature.GetLabels()[featuresOf]
		if nodes[node] == nil {
			nodes[node] = map[string]string{}
		}
		found, _, _ := unstructured.NestedStringMap(feature.Object, "spec", "labels")
		for name, value := range found {
			if !strings.Contains(name, "/") {
				name = featurePrefix + name
			}
			nodes[node][name] = value
		}
	}
	return nodes, nil
}

// masterName is the field manager of the master's labels. The API server removes labels that this manager does not
// apply again.
const masterName = "nfd-master"

// label sets the labels of every node that has or had a report.
func label(ctx context.Context, client kubernetes.Interface, said map[string]map[string]string) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		isIts := func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == masterName }
		if said[node.Name] == nil && !slices.ContainsFunc(node.ManagedFields, isIts) {
			continue
		}
		wanted := applycorev1.Node(node.Name).WithLabels(said[node.Name])
		if _, err := client.CoreV1().Nodes().Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: masterName, Force: true}); err != nil {
			return err
		}
	}
	return nil
}

// setLabels changes labels of a node. A nil value removes a label.
func setLabels(ctx context.Context, client kubernetes.Interface, node *corev1.Node, changes map[string]*string) error {
	if len(changes) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": changes}})
	if err == nil {
		_, err = client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, body, metav1.PatchOptions{})
	}
	return err
}

// discover is gpu-feature-discovery from the device plugin's image. It needs NVML, and passes its labels to NFD. The
// real program has many labels (k8s-device-plugin docs/gpu-feature-discovery); here are only those that something
// reads. A card with MIG devices appears only in the node's resources.
func (o *Operator) discover(ctx context.Context, c *programs.Container) int {
	cards := gpu.Cards(c.Machine)
	offer, err := programs.OfferOf(c)
	switch {
	case err != nil:
		return c.Fails("%v", err)
	case !c.SeesNVML() || len(cards) == 0:
		c.Logf("NVML not detected: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
		return c.Fails("error creating label source: invalid device discovery strategy")
	case c.Machine.Clock().Sleep(ctx, 3*time.Second) != nil:
		return programs.ExitTerminated
	}
	// The name is that of the real program (k8s-device-plugin internal/lm/output.go).
	if err := o.tell(ctx, c, "nvidia-features-for-"+c.Machine.Name(), gpuLabels(cards, offer)); err != nil {
		return c.Fails("error creating or updating NodeFeature object: %v", err)
	}
	c.Logf("Creating Labels\nSleeping for 60 seconds")
	return c.Rests(ctx)
}

func gpuLabels(cards []gpu.Card, offer programs.Offer) map[string]string {
	labels := map[string]string{migCapable: fmt.Sprint(cards[0].MIG != nil)}
	if len(cards[0].Slices) == 0 {
		product := cards[0].ProductName()
		if offer.Replicas > 1 && !offer.Sharing.TimeSlicing.RenameByDefault {
			product += "-SHARED"
		}
		labels["nvidia.com/gpu.product"], labels["nvidia.com/gpu.count"] = strings.ReplaceAll(product, " ", "-"), strconv.Itoa(len(cards))
	}
	return labels
}
