// Package nfd stands in for Node Feature Discovery's worker and master (kubernetes-sigs/node-feature-discovery v0.17 to v0.19). They speak
// by the real ones' NodeFeature objects, so that with a real node either may be the master.
package nfd

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// Discovery is what its programs share.
type Discovery struct {
	// as is a client with the rights of a service account.
	as      Clients
	dynamic dynamic.Interface
}

// Clients gives a client with the rights of a service account and no others: `system:serviceaccount:NAMESPACE:NAME`.
type Clients func(account string) (kubernetes.Interface, error)

// Impersonating gives clients of service accounts to somebody who may act as everybody.
func Impersonating(config *rest.Config) Clients {
	return func(account string) (kubernetes.Interface, error) {
		own := rest.CopyConfig(config)
		own.Impersonate.UserName = account
		return kubernetes.NewForConfig(own)
	}
}

// New prepares the programs. Nodes are changed with the rights of the pod's own account, which its chart gives and takes: after the
// release is gone, a master that has not ended yet can write nothing behind the job that prunes. The rest is done by a client that
// may do everything.
func New(as Clients, dynamic dynamic.Interface) *Discovery {
	return &Discovery{as: as, dynamic: dynamic}
}

// own is the client of the account that a pod has.
func (o *Discovery) own(c *programs.Container) (kubernetes.Interface, error) {
	return o.as("system:serviceaccount:" + c.Pod.Namespace + ":" + c.Pod.Spec.ServiceAccountName)
}

// Collector is the garbage collector. What it removes, NodeFeature objects of nodes that are gone, the lab does not make.
func Collector(ctx context.Context, c *programs.Container) int {
	port, err := strconv.Atoi(c.Argument("-port"))
	if err != nil {
		port = 8080
	}
	return c.Serves(ctx, port, programs.Well)
}

// WorkerConfig is the PCI part of nfd-worker.conf. Defaults: node-feature-discovery docs, "Worker configuration file".
type WorkerConfig struct {
	Sources struct {
		PCI struct {
			DeviceClassWhitelist []string `json:"deviceClassWhitelist"`
			DeviceLabelFields    []string `json:"deviceLabelFields"`
		} `json:"pci"`
	} `json:"sources"`
}

// Worker reports a machine's features, now and when the machine changes.
func (o *Discovery) Worker(ctx context.Context, c *programs.Container) int {
	config := WorkerConfig{}
	if text, err := c.Read(cmp.Or(c.Argument("-config"), "/etc/kubernetes/node-feature-discovery/nfd-worker.conf")); err == nil {
		_ = yaml.Unmarshal(text, &config)
	}
	if c.Machine.Clock().Sleep(ctx, 2*time.Second) != nil {
		return programs.ExitTerminated
	}
	go Collector(ctx, c) // it has the same probe
	for range c.Machine.Watch(ctx) {
		if err := o.Tell(ctx, c, c.Machine.Name(), DiscoverNode(c.Machine.Snapshot(), config)); err != nil && ctx.Err() == nil {
			return c.Fails("failed to advertise features: %v", err)
		}
	}
	return programs.ExitTerminated
}

// DiscoverNode is what a worker finds on a machine. A release that begins with v, as Talos' do, is not split into major and minor
// (source/system/system.go, splitVersion).
func DiscoverNode(s host.Snapshot, config WorkerConfig) map[string]string {
	labels := map[string]string{
		nodelabels.FeaturePrefix + "system-os_release.ID": "talos", nodelabels.FeaturePrefix + "system-os_release.VERSION_ID": s.TalosVersion,
		nodelabels.FeaturePrefix + "cpu-model.vendor_id": "Intel", nodelabels.FeaturePrefix + "cpu-cpuid.AVX2": "true",
	}
	classes, fields := config.Sources.PCI.DeviceClassWhitelist, config.Sources.PCI.DeviceLabelFields
	if len(classes) == 0 {
		classes = []string{"03", "0b40", "12"}
	}
	if len(fields) == 0 {
		fields = []string{"class", "vendor"}
	}
	for _, card := range s.GPUs {
		class, vendor, found := strings.Cut(card.PCIDevice, "_")
		if !found || !slices.ContainsFunc(classes, func(prefix string) bool { return strings.HasPrefix(class, strings.ToLower(prefix)) }) {
			continue
		}
		name := strings.NewReplacer("class", class, "vendor", vendor).Replace(strings.Join(fields, "_"))
		labels[nodelabels.FeaturePrefix+"pci-"+name+".present"] = "true"
	}
	return labels
}

// nodeFeatures are what workers and GPU feature discovery say of a node, and what the master reads (node-feature-discovery
// api/nfd/v1alpha1). Their definition comes with NFD's chart.
var nodeFeatures = schema.GroupVersionResource{Group: "nfd.k8s-sigs.io", Version: "v1alpha1", Resource: "nodefeatures"}

// featuresOf is the label of a NodeFeature that names its node.
const featuresOf = "nfd.node.kubernetes.io/node-name"

// Tell says what was found on the container's node. The object has the pod that says it for an owner, and the pod's owner beside it: it
// goes with the DaemonSet, and outlasts a pod that another one follows (nfd-worker.go, setOwnerReference).
func (o *Discovery) Tell(ctx context.Context, c *programs.Container, name string, found map[string]string) error {
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: c.Pod.Name, UID: c.Pod.UID}}
	for _, owner := range c.Pod.OwnerReferences {
		owners = append(owners, metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID})
	}
	none := map[string]any{}
	body, err := json.Marshal(map[string]any{
		"apiVersion": nodeFeatures.GroupVersion().String(), "kind": "NodeFeature",
		"metadata": map[string]any{"name": name, "labels": map[string]string{featuresOf: c.Machine.Name()}, "ownerReferences": owners},
		"spec":     map[string]any{"labels": maps.Clone(found), "features": map[string]any{"attributes": none, "flags": none, "instances": none}},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = o.dynamic.Resource(nodeFeatures).Namespace(c.Pod.Namespace).Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "lab", Force: &force})
	return err
}
