package nfd

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// nodeFeatures are what workers and GPU feature discovery say of a node, and what the master reads: real ones and emulated ones understand each other
// (node-feature-discovery api/nfd/v1alpha1). Their definition comes with NFD's chart.
var nodeFeatures = schema.GroupVersionResource{Group: "nfd.k8s-sigs.io", Version: "v1alpha1", Resource: "nodefeatures"}

// featuresOf is the label of a NodeFeature that names its node.
const featuresOf = "nfd.node.kubernetes.io/node-name"

// Tell says what was found on the container's node. The object has the pod that says it for an owner, and the pod's owner beside it: it
// goes with the DaemonSet, and outlasts a pod that another one follows (nfd-worker.go, setOwnerReference).
func (o *Discovery) Tell(ctx context.Context, c *programs.Container, name string, found map[string]string) error {
	none := map[string]any{}
	var owners []metav1.OwnerReference
	for _, owner := range c.Pod.OwnerReferences {
		owners = append(owners, metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID})
	}
	owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: c.Pod.Name, UID: c.Pod.UID})
	body, err := json.Marshal(map[string]any{
		"apiVersion": nodeFeatures.GroupVersion().String(), "kind": "NodeFeature",
		"metadata": map[string]any{
			"name": name, "labels": map[string]string{featuresOf: c.Machine.Name()},
			"ownerReferences": owners,
		},
		"spec": map[string]any{"labels": found, "features": map[string]any{"attributes": none, "flags": none, "instances": none}},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = o.dynamic.Resource(nodeFeatures).Namespace(c.Pod.Namespace).Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "lab", Force: &force})
	return err
}

// watchFeatures wakes whenever somebody says something else of a node. The lister knows all that was said.
func (o *Discovery) watchFeatures(ctx context.Context, wake chan<- struct{}) (cache.GenericLister, error) {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(o.dynamic, 0)
	informer := factory.ForResource(nodeFeatures)
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { nudge(wake) }, UpdateFunc: func(any, any) { nudge(wake) }, DeleteFunc: func(any) { nudge(wake) },
	}
	if _, err := informer.Informer().AddEventHandler(handler); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced)
	return informer.Lister(), nil
}

// labelsSaid of every node, by everybody together. A name without a domain is one of NFD's own.
func labelsSaid(said cache.GenericLister) (map[string]map[string]string, error) {
	objects, err := said.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	nodes := map[string]map[string]string{}
	for _, object := range objects {
		feature := object.(*unstructured.Unstructured)
		node := feature.GetLabels()[featuresOf]
		if nodes[node] == nil {
			nodes[node] = map[string]string{}
		}
		found, _, _ := unstructured.NestedStringMap(feature.Object, "spec", "labels")
		maps.Copy(nodes[node], qualified(found))
	}
	return nodes, nil
}

func qualified(found map[string]string) map[string]string {
	whole := map[string]string{}
	for name, value := range found {
		if !strings.Contains(name, "/") {
			name = nodelabels.FeaturePrefix + name
		}
		whole[name] = value
	}
	return whole
}

func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
