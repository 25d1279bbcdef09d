package nfd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// featureLabels is the annotation in which the master keeps the names of the labels that are its own, without the prefix of
// its own namespace (node-feature-discovery api/nfd/v1alpha1, FeatureLabelsAnnotation).
const featureLabels = "nfd.node.kubernetes.io/feature-labels"

// Master puts the features on the nodes, or with -prune takes everything of its own off them, as the chart's hook does after the release is
// gone (deployment/helm/node-feature-discovery/templates/post-delete-job.yaml; pkg/nfd-master/nfd-master.go, prune).
func (o *Discovery) Master(ctx context.Context, c *programs.Container) int {
	client, err := o.own(c)
	if err != nil {
		return c.Fails("%v", err)
	}
	if slices.Contains(c.Argv, "-prune") {
		if err := publishAll(ctx, client, nil); err != nil {
			return c.Fails("failed to prune: %v", err)
		}
		return 0
	}
	go Collector(ctx, c) // it has the same probe
	var published map[string]map[string]string
	for c.Machine.Clock().Sleep(ctx, look) == nil {
		nodes, err := o.labelsSaid(ctx)
		if err == nil && !same(published, nodes) {
			if err = publishAll(ctx, client, nodes); err == nil {
				published = nodes
			}
		}
		if err != nil && ctx.Err() == nil {
			c.Logf("failed to update nodes: %v", err)
		}
	}
	return programs.ExitTerminated
}

// look is how often the master looks at what is said of nodes.
const look = 20 * time.Second

func same(a, b map[string]map[string]string) bool {
	return a != nil && maps.EqualFunc(a, b, maps.Equal)
}

// labelsSaid of every node, by everybody together. A name without a domain is one of NFD's own.
func (o *Discovery) labelsSaid(ctx context.Context) (map[string]map[string]string, error) {
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
			nodes[node][qualified(name)] = value
		}
	}
	return nodes, nil
}

func qualified(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return nodelabels.FeaturePrefix + name
}

// publishAll labels every node of which something is said, or was said before.
func publishAll(ctx context.Context, client kubernetes.Interface, said map[string]map[string]string) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if _, noted := node.Annotations[featureLabels]; noted || said[node.Name] != nil {
			if err := publish(ctx, client, &node, said[node.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish labels a node and notes which labels those are, first: what is not noted would never be taken off. What was noted
// and is said no more goes (pkg/nfd-master/nfd-master.go, updateNodeObject).
func publish(ctx context.Context, client kubernetes.Interface, node *corev1.Node, labels map[string]string) error {
	changes, names := map[string]*string{}, []string{}
	for _, name := range strings.Split(node.Annotations[featureLabels], ",") {
		if _, set := node.Labels[qualified(name)]; set {
			changes[qualified(name)] = nil
		}
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		names = append(names, strings.TrimPrefix(label, nodelabels.FeaturePrefix))
		value := labels[label]
		if changes[label] = &value; node.Labels[label] == value {
			delete(changes, label)
		}
	}
	var noted *string
	if joined := strings.Join(names, ","); joined != "" {
		noted = &joined
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{featureLabels: noted}}})
	if err == nil {
		_, err = client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, body, metav1.PatchOptions{})
	}
	if err != nil {
		return err
	}
	return nodelabels.Patch(ctx, client, node.Name, changes)
}
